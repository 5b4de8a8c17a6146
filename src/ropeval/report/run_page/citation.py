"""How to cite a run."""

from ropeval.report.run_page.outcome import Outcome
from ropeval.version import __version__


def citation(outcome: Outcome) -> str:
    """BibTeX for the software, and for the paper where its method was used."""
    entries = [
        "@software{ropeval,\n  title = {ropeval: off-policy evaluation from a fixed log},\n"
        f"  author = {{The ropeval developers}},\n  version = {{{__version__}}}\n}}"
    ]
    if any("rope" in method.split("+")[0] for method in outcome.methods):
        entries.append(
            "@inproceedings{pavse2023rope,\n"
            "  title = {State-Action Similarity-Based Representations for Off-Policy Evaluation},\n"
            "  author = {Pavse, Brahma S. and Hanna, Josiah P.},\n"
            "  booktitle = {Advances in Neural Information Processing Systems},\n  year = {2023}\n}"
        )
    return "\n\n".join(entries)
