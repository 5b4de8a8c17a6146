"""One file per format. Each has `read(path, columns)`, which yields the log as `Dataset`s of whole episodes, part by
part, so that converting a log takes no more memory than a part of it."""
