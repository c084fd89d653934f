"""Options of `topmix fit`: they reach estimators and components, and help lists them."""

from __future__ import annotations

import dataclasses
import json
import re
from functools import cache

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import topmix
from topmix import LDA
from topmix.apps.command import COMMANDS, app
from topmix.apps.command.command import as_options, print_json
from topmix.apps.command.fit_command import seconds
from topmix.apps.command.models import OWN, component_flags, configure, model_flags
from topmix.apps.command.options import Flag, flags_of, gist, merged, option_of
from topmix.estimators import ESTIMATORS as MODELS
from topmix.estimators.declared import FAMILIES
from topmix.inference import SCVB0, Collapsed
from topmix.learners import Asynchronous, Memoized, Stochastic
from topmix.search import TopicSearch

IN_FILES = {"seeds": {"words", "ban", "pin"}}  # settings that the file of an option has
MODEL_FLAGS = model_flags()
FLAGS = {**MODEL_FLAGS, **{name: flag for family in FAMILIES for name, flag in component_flags(family).items()}}
OPTION = re.compile(r"^  (?:-\w, )?(--[\w.-]+)", re.MULTILINE)


def call(*args):
    return CliRunner().invoke(app, [str(a) for a in args], env={"COLUMNS": "200"})


@cache
def help_of(*args):
    done = call(*args)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def fit(work, tmp_path):
    """fit(*options): the model that `topmix fit docs/ -k 2 --max-iter 2` writes, loaded."""

    def fitted(*options):
        done = call("fit", work / "docs", "-k", "2", "--max-iter", "2", "-o", tmp_path / "m", "-q", *options)
        assert done.exit_code == 0, done.output
        return topmix.load(tmp_path / "m")

    return fitted


@pytest.fixture
def refused(work, tmp_path):
    """refused(*options): the message of a fit that must end with exit code 2 before it writes anything."""

    def message(*options):
        done = call("fit", work / "docs", "-o", tmp_path / "m", *options)
        assert done.exit_code == 2, done.output
        assert not list(tmp_path.iterdir())
        return " ".join(done.stderr.split())

    return message


def test_parameters_reach_the_estimator(fit):
    wanted = {"n_active": None, "doc_topic_prior": "auto", "topic_word_prior": 0.2, "max_iter": 2, "tol": -1.5}
    found = fit("-L", "none", "--doc-topic-prior", "auto", "--topic-word-prior", "0.2", "--tol", "-1.5")
    assert {name: found.get_params()[name] for name in wanted} == wanted
    assert found.inference == "collapsed"  # options that were not given keep the library's defaults
    assert found.learner == "memoized"


def test_component_options_reach_the_chosen_components(fit):
    found = fit("--inference", "scvb0", "--inference.doc-decay", "0.8", "--learner", "stochastic",
                "--learner.batch-size", "20", "--learner.offset", "5")  # fmt: skip
    assert found.inference == SCVB0(doc_decay=0.8)
    assert found.learner == Stochastic(batch_size=20, offset=5.0)


def test_component_options_without_a_component_apply_to_the_default(fit):
    found = fit("--inference.own-discount", "0.25", "--inference.min-topic-mass", "1", "--learner.batch-size", "50")
    assert found.inference == Collapsed(min_topic_mass=1.0, own_discount=0.25)
    assert found.learner == Memoized(batch_size=50)
    assert fit("--inference.cold-visits", "none").inference == Collapsed(cold_visits=None)
    how = ("--inference", "variational", "--learner", "asynchronous")
    assert fit(*how, "--learner.per-token").learner == Asynchronous(per_token=True)
    assert fit(*how, "--learner.no-per-token").learner == Asynchronous()


def test_the_search_of_an_hdp(fit):
    found = fit("--model", "hdp", "--max-iter", "8", "--search.max-topics", "6", "--search.polish", "1")
    assert found.search == TopicSearch(max_topics=6, polish=1)
    assert len(found.components_) <= 6
    assert fit("--model", "hdp", "--search", "none").search is None


def test_resume_changes_settings_of_the_components_in_the_file(fit):
    fit("--inference.min-topic-mass", "1.5", "--learner", "stochastic")
    found = fit("--resume", "--inference.own-discount", "0.3")
    assert found.inference == Collapsed(min_topic_mass=1.5, own_discount=0.3)
    assert found.learner == "stochastic"


WRONG = {
    "another component's": (["--inference.doc-scale", "2"], ["LDA has", "--inference.own-discount",
                                                             "belongs to scvb0"]),
    "a component without options": (["--learner", "batch", "--learner.batch-size", "9"], ["LDA has no such option",
                                                                                           "memoized, stochastic"]),
    "no component's": (["--learner.size", "2"], ["No such option", "--learner.batch-size", "--learner.workers"]),
    "without its component": (["--min-topic-mass", "2"], ["--inference.min-topic-mass"]),
    "a component that the model has not": (["--model", "gibbs-lda", "--inference.sweeps", "3"], ["LDA, HDP"]),
    "a component's as the model's": (["--smoothing", "0.1"], ["LDA has --inference.smoothing"]),
    "two components'": (["--batch-size", "9"], ["--learner.batch-size, --sampler.batch-size"]),
    "another model's": (["--sampler", "parallel"], ["LDA has no such option; this option belongs to GibbsLDA"]),
    "no search to set": (["--model", "hdp", "--search", "none", "--search.polish", "2"],
                         ["it belongs to --search, and there is none"]),
    "no seeds to set": (["--seeds.strength", "1"], ["it belongs to --seeds, and there is none"]),
    "not a number": (["--inference.min-topic-mass", "much"], ["'much' is not a number or none"]),
    "out of range": (["--inference.own-discount", "2"], ["--inference.own-discount", "from 0 to 1"]),
    "no such component": (["--inference", "exact"], ["'exact' is not one of collapsed, variational, cvb0, scvb0"]),
    "no such engine": (["--engine", "steam"], ["--engine", "threads, serial"]),
    "not a search": (["--model", "hdp", "--search", "long"], ["--search", "auto"]),
}  # fmt: skip


@pytest.mark.parametrize(("options", "messages"), WRONG.values(), ids=WRONG)
def test_wrong_options_are_told_what_there_is(options, messages, refused):
    error = refused(*options)
    assert all(message in error for message in messages), error


def test_components_that_do_not_go_together_are_told_in_options(work, tmp_path):
    done = call("fit", work / "docs", "-o", tmp_path / "m", "--learner", "asynchronous")
    assert done.exit_code == 1
    assert "--learner asynchronous needs --inference variational" in done.stderr


def test_help_is_short():
    text = help_of("fit", "--help")
    options = OPTION.findall(text)
    assert {"--n-components", "--n-active", "--inference", "--learner", "--max-iter", "--max-time", "--seed",
            "--threads", "--output", "--model", "--checkpoint", "--quiet", "--help-all"} <= set(options)  # fmt: skip
    assert len(options) <= 18
    assert not any("." in option for option in options)
    for command in COMMANDS:
        assert len(OPTION.findall(help_of(command, "--help"))) <= 18, command


def test_help_all_lists_every_parameter_of_every_estimator_and_component():
    options = set(OPTION.findall(help_of("fit", "--help-all")))
    for cls in MODELS.values():
        own = [name for name in cls._get_param_names() if name not in OWN]
        assert {option_of(name) for name in own} <= options, cls
    for family, kinds in FAMILIES.items():
        for kind in kinds.values():
            settings = {field.name for field in dataclasses.fields(kind)} - IN_FILES.get(family, set())
            assert {option_of(f"{family}__{setting}") for setting in settings} <= options, kind
    assert {"--max-time", "--seed", "--threads", "--resume", "--min-df", "--field"} <= options
    assert "--field" in OPTION.findall(help_of("infer", "--help-all"))


def test_help_has_the_choices_of_the_families_and_the_words_of_the_docstrings():
    text = help_of("fit", "--help-all")
    for family, kinds in FAMILIES.items():
        if family in IN_FILES:
            continue
        assert f"--{family} {'|'.join(kinds)}" in text
        assert MODEL_FLAGS[family].choices == tuple(kinds)
    assert all(flag.text for flag in FLAGS.values())
    assert "memoized: Rows per batch. None makes ten rounds of batches," in " ".join(text.split())


def test_every_option_can_be_set_on_some_estimator():
    """Defaults are valid values, so the type that an option parses is one that the library takes."""
    for name, flag in FLAGS.items():
        family, _, setting = name.partition("__")
        for cls in MODELS.values():
            if not setting or family not in cls._get_param_names():
                continue
            kind, cls_kind = next((n, k) for n, k in FAMILIES[family].items() if setting in k().settings())
            default = cls_kind().settings()[setting]
            value = default if isinstance(default, bool) else flag.parse(str(default))
            estimator = cls()
            configure(estimator, {family: cls_kind() if family in IN_FILES else kind, name: value})
            assert estimator.get_params()[name] == default


@pytest.mark.parametrize(("text", "wanted"), [("90", 90), ("90s", 90), ("15m", 900), ("2 h", 7200), ("0.5D", 43200)])
def test_times(text, wanted):
    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "soon", "0", "-3s", "3w", "1m30s"])
def test_times_that_are_none(text):
    with pytest.raises(typer.BadParameter, match="15m"):
        seconds(text)


@pytest.mark.parametrize("name", MODELS)
def test_max_time_ends_the_fit_of_any_model_after_a_pass(name, work, tmp_path):
    options = ["--n-init", "1"] if "n_init" in MODELS[name]._get_param_names() else []
    options += ["--tol", "-1e9"] if "tol" in MODELS[name]._get_param_names() else []
    data = work / "docs"
    if not MODELS[name]().__sklearn_tags__().input_tags.positive_only:
        data = tmp_path / "rows.csv"
        np.savetxt(data, np.random.default_rng(0).normal(size=(60, 2)), delimiter=",")
    if "Admixture" in name:
        np.save(tmp_path / "groups.npy", np.arange(60) // 6)
        options += ["--groups", str(tmp_path / "groups.npy")]
    done = call("fit", data, "--model", name, "-k", "3", "-o", tmp_path / "m", "--json", "--max-time",
                "0.000001s", *options)  # fmt: skip
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert (about["n_iter"], about["stopped"]) == (1, "time limit")
    assert topmix.load(tmp_path / "m").get_params().get("max_time") is None


def test_max_time_that_is_long_enough_changes_nothing(fit):
    assert fit("--max-time", "1h", "--tol", "-1e9").n_iter_ == 2


def test_the_command_makes_as_many_starts_as_python(fit):
    assert fit().n_init == LDA().n_init == 1
    assert fit("--n-init", "3").n_init == 3
    assert fit("--model", "hdp", "--search", "none").n_init == 1
    assert fit("--model", "hdp", "--search", "none", "--n-init", "2").n_init == 2


def test_options_of_a_function():
    def function(a: str = "x", b: str = "y", c: int | None = None) -> None:
        """A function.

        Parameters
        ----------
        a, b : {"x", "y"}
            One. Two.
        c
            Three. None is four.

        Returns
        -------
        """

    flags = flags_of(function)
    assert [flag.text for flag in flags.values()] == ["One.", "One.", "Three. None is four."]
    assert [flag.choices for flag in flags.values()] == [("x", "y"), ("x", "y"), ()]
    assert gist("Three, e.g. this. More of it. None is four.") == "Three, e.g. this. None is four."


def test_merged_help_names_models_and_their_defaults():
    flags = {"A": Flag("x", int, 1, "One."), "B": Flag("x", int, 1, "As in A."), "C": Flag("x", int, None, "Two.")}
    assert merged(flags, "ABC").help == "A, B: One. C: Two. [1; C none]"
    assert merged(flags, "ABC", in_full=False).help == "One. [1; C none]"
    assert merged({"A": flags["A"]}, "A").help == "One. [1]"
    assert merged({"A": flags["A"]}, "AB").help == "A: One. [1]"


def test_parameters_in_messages_become_options():
    assert as_options("learner='batch' needs n_init=1") == "--learner batch needs n_init=1"
    assert (
        as_options("see encoding= and id_field=, or search=None") == "see --encoding and --id-field, or --search none"
    )


def test_json_has_no_nan(capsys):
    print_json({"a": [1.0, float("nan")], "b": (float("inf"), None)})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": [None, None]}
