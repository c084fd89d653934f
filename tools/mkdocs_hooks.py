"""For the documentation site: docs/api.md lists all public names, and each class gets a page of its own.

In docs/api.md, `::: topmix.x.Name` stands for a name, with options and text below it, and `{{ estimators }}` for the
registered estimators. Here a class or a module becomes the page api/Name.md, the functions of a section share one page,
and the list itself has links and the first sentences of docstrings. Nothing has to be added here for a new name.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

LISTED = "api.md"
SECTION, NAME = re.compile(r"^## (.+)$", re.MULTILINE), re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


@dataclass
class Section:
    """A heading of docs/api.md, with pages by their address."""

    title: str
    listed: str = ""  # what the list of all names says
    pages: dict[str, str] = field(default_factory=dict)  # address: Markdown
    titles: dict[str, str] = field(default_factory=dict)  # address: title

    def add(self, path: str, below: str) -> None:
        """A name, with what stands below it: options, tables, headings of a part."""
        thing, name = found(path), path.rpartition(".")[2]
        options = "".join(re.findall(r"^ +options: \{(.*)\}$", below, re.MULTILINE))
        rest = re.sub(r"^ +options: .*\n?", "", below, flags=re.MULTILINE)
        rest, part, after = rest.partition("### ")
        alone = not inspect.isroutine(thing)
        address = f"api/{name if alone else slug(self.title)}.md"
        more = ", ".join(filter(None, [f"heading_level: {1 if alone else 2}", options]))
        self.titles.setdefault(address, name if alone else "Functions" if self.pages else self.title)
        text = f"::: {path}\n    options: {{{more}}}\n\n{rest.strip()}\n\n"
        start = f"---\ntitle: {name}\n---\n\n" if alone else f"# {self.title}\n\n"
        self.pages[address] = self.pages.get(address, start) + text
        paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
        said = re.split(r"(?<=\.)\s", paragraph)[0]
        self.listed += f"- [`{name}`]({address}#{path}) {said}\n{f'{chr(10)}{part}{after}' if part else ''}"


def found(path: str) -> Any:
    """A name of the package, or a module of it."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(found(module), name)


def slug(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def sections(text: str) -> tuple[str, list[Section]]:
    """What docs/api.md begins with, and its sections."""
    from topmix.estimators import ESTIMATORS

    every = "\n".join(f"::: {cls.__module__}.{name}\n    options: {{inherited_members: true}}"
                      for name, cls in ESTIMATORS.items())  # fmt: skip
    start, *parts = SECTION.split(text.replace("{{ estimators }}", every))
    made = []
    for title, body in zip(parts[::2], parts[1::2]):
        before, *names = NAME.split(body)
        section = Section(title, before.strip() + "\n\n")
        for path, below in zip(names[::2], names[1::2]):
            section.add(path, below.lstrip("\n"))
        made.append(section)
    return start, made


def on_config(config: MkDocsConfig) -> None:
    start, made = sections((Path(config.docs_dir) / LISTED).read_text(encoding="utf-8"))
    config.extra["api"] = start, made
    for tab in config.nav or []:
        for entries in tab.values():
            for n, entry in enumerate(entries):
                if isinstance(entry, dict) and LISTED in entry.values():
                    (title,) = entry
                    nested = [{s.title: [{s.titles[a]: a} for a in s.pages]} for s in made if s.pages]
                    entries[n] = {title: [{"All names": LISTED}, *nested]}


def on_files(files: Files, config: MkDocsConfig) -> None:
    for section in config.extra["api"][1]:
        for address, text in section.pages.items():
            files.append(File.generated(config, address, content=text))


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, **_: Any) -> str:
    start, made = config.extra["api"]
    if page.file.src_uri == LISTED:
        return start + "".join(f"## {section.title}\n\n{section.listed}\n" for section in made)
    pages = {
        name: address for section in made for address, text in section.pages.items() for name in NAME.findall(text)
    }
    return re.sub(r"\(api\.md#([\w.]+)\)", lambda link: f"({pages[link[1]]}#{link[1]})", markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Tables that a notebook printed are not searched: their cells would be read as one word."""
    return html.replace("<table", "<table data-search-exclude") if page.file.src_uri.startswith("tutorials/") else html
