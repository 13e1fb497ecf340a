"""Pictures of recordings and snapshots: what is to be drawn, for matplotlib (PNG, SVG) and for the HTML report alike.

`bands`, `tape` and `holes` turn a history into plain numbers to draw and know no library; the modules called `draw_...`
draw them with matplotlib, those called `page_...` make the HTML report. Nothing here reads files or arguments.
"""
