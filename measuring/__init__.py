"""What the scripts of benchmarks/ and paper/ share.

Python puts the folder of a script on its path. So ``benchmarks/measuring`` and ``paper/measuring`` are links to this
folder, and ``python benchmarks/x.py`` finds it wherever it is run and however rather was installed.
"""
