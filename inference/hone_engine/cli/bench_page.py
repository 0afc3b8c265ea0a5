"""A benchmark's report as one HTML page with Plotly's charts; it needs nothing from outside."""

import html
import json
from importlib import resources
from string import Template

from plotly.offline import get_plotlyjs

from hone_engine.cli.bench_report import Report


def page(report: Report) -> str:
    """HTML, some 5 MB, nearly all of it Plotly itself."""
    template = resources.files("hone_engine.cli").joinpath("bench_page.html").read_text("utf-8")
    # "<" would let a name end the script element.
    data = json.dumps(report.as_json()).replace("<", "\\u003c")
    return Template(template).substitute(
        title=html.escape(report.title),
        device=html.escape(report.device),
        plotly=get_plotlyjs(),
        report=data,
    )
