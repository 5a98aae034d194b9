"""The report as a page: one file, whole, and safe whatever names are in it."""

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import relume as rl
from relume import legacy_nn as nn

VOID = {"meta", "br", "line", "rect"}
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), ""
)


class Checker(HTMLParser):
    """Notes what is open, and everything that would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.found, self.fetched = [], [], []

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)
        self.fetched += [value for name, value in attributes if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def report_of(tmp_path, net):
    return rl.convert(net, tmp_path / "n.npz", gradients=True, layers=True)


def check(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == [] and checker.fetched == []
    assert "script" not in checker.found
    return checker.found


def nested_network():
    inner = nn.Sequential().add(nn.Linear(3, 3)).add(nn.Tanh())
    branches = nn.ConcatTable().add(inner).add(nn.Identity())
    return nn.Sequential().add(branches).add(nn.CAddTable()).add(nn.Linear(3, 2))


def test_the_page_is_whole_and_fetches_nothing(tmp_path):
    report = report_of(tmp_path, nested_network())
    page = report.to_html()
    found = check(page)
    assert page.count('class="bar" x=') == len(report.proofs[0].layers) == 9
    assert found.count("svg") == 2  # the chart and the graph
    assert found.count("details") == 3  # the network, the branches, the inner network
    assert "read back: equal bit for bit, both sides compute the same" in page
    assert "weight 2x3, bias 2" in page


def test_names_cannot_become_markup(tmp_path):
    evil = "<script>alert(1)</script>"
    report = report_of(tmp_path, {evil: nested_network()})
    report.source = report.warnings = [evil]
    report.source = evil
    assert evil not in report.to_html()
    check(report.to_html())


def test_differences_stand_out():
    net = nested_network()
    other = net.clone()
    other.get(3).bias.fill_(100)
    report = rl.compare(net, other)
    page = report.to_html()
    check(page)
    assert "the sides differ" in page and "<code>modules.3</code>" in page


@pytest.mark.skipif(not BROWSER, reason="needs a browser")
def test_a_browser_shows_it(tmp_path):
    report_of(tmp_path, nested_network()).save(tmp_path / "report.html")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    shown = subprocess.run(
        [*command, str(tmp_path / "report.html")], capture_output=True, text=True, timeout=60
    )
    assert "read back: equal bit for bit" in shown.stdout
