"""Read posts: all file formats, and the files of an archive."""
