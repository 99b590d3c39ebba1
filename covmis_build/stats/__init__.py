"""Statistics without dependencies on other subpackages: tables in, numbers out."""
