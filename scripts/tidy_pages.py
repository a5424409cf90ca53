# SPDX-License-Identifier: GPL-2.0
"""A rule about pages: what they link and name is there."""
import os
import re

# A link to a file of the tree, or to a heading.
LINK = re.compile(r"\]\(([^()\s:#]*)(?:#([^()\s]*))?\)")
# A path of the tree in backquotes; one with a word in capitals or a `*` stands for several.
PATH = re.compile(r"`([\w.-]+/[\w./-]*)(?:`| [^`]*`)")
PLACEHOLDER = re.compile(r"(?:^|[/.-])[A-Z][A-Z_]+(?:[/.-]|$)")
FENCED = re.compile(r"^```.*?^```", re.S | re.M)
HISTORY = ("CHANGELOG.md", "docs/TRIED.md")


def anchors(text):
    """The anchors of a page's headings, as they are shown on the web, and those set by hand."""
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.M):
        found.add(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))
    return found


def is_there(path, tree):
    return path in tree or os.path.exists(path) or \
        any(there.startswith(path.rstrip("/") + "/") for there in tree)


def broken_link(src, target, anchor, tree):
    path = os.path.normpath(os.path.join(os.path.dirname(src.path), target)) if target else src.path
    if not is_there(path, tree):
        return f"links {target}, which does not exist"
    if anchor and path in tree and anchor not in anchors(tree[path].text):
        return f"links #{anchor}, which is no heading of {path}"
    return None


def rule_pages(tree):
    """a page links and names only what is there"""
    tops = {path.split("/")[0] for path in tree if "/" in path}
    for src in tree.values():
        if not src.path.endswith(".md"):
            continue
        for number, line in enumerate(src.lines, 1):
            for target, anchor in LINK.findall(line):
                complaint = (target or anchor) and broken_link(src, target, anchor, tree)
                if complaint:
                    yield src.path, number, complaint
            for path in PATH.findall(line):
                if path.split("/")[0] in tops and src.path not in HISTORY and \
                   not PLACEHOLDER.search(path) and not is_there(path, tree):
                    yield src.path, number, f"names {path}, which does not exist"
