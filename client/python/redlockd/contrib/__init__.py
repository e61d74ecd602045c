"""redlockd in other packages. Each module needs the package that it is named for."""
