"""Running a study: the file, its units, this machine or a cluster, and where results are kept."""
