"""The Python halves of Lua packages: what Lua asks of Python with `bridge.import(name)`.

A package `image` of `bridge/lua` finds its half in `bridge/packages/image.py`. Functions here
take and give what crosses the border (docs/bridge.md).
"""
