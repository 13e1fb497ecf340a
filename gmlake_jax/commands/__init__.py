"""The command line `gmlake`: one module a verb, one class a module. Commands parse and print; what they print is made
elsewhere in the package. To add a verb, add a module here with a class of the same name in capitals (command.py)."""
