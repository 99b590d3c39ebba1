"""A study: its operations combine the other subpackages. Only this subpackage imports all of them."""
