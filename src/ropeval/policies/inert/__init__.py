"""Files that could run code, read without running any: pickles, archives, tensors. Nothing calls what it reads."""
