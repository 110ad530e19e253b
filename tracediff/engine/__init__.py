"""The numpy reference engine: the same bits on every IEEE 754 machine; it knows no file format."""
