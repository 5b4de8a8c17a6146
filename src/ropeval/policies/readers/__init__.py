"""One file per format of policy: each gets a file's bytes and gives a `Policy`, or says why not."""
