"""Pictures that verbs draw: Matplotlib is imported with the first one of them.

Used as ``pictures.draw_busy(...)`` after ``from flitloom.commands import pictures``.
"""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.collectives.pictures import draw_advice, draw_busy
    from flitloom.fabric.pictures import draw_fabric, draw_network
    from flitloom.load.pictures import plot_load_curves, plot_responses, plot_series
    from flitloom.placing.pictures import draw_placement
    from flitloom.plots.link_time import compare_link_time
    from flitloom.plots.space_time import plot_space_time
    from flitloom.scheduling.pictures import plot_stackings
    from flitloom.tables.by_source.pictures import draw_comparison
else:
    __getattr__ = names_of(
        "flitloom",
        {
            "compare_link_time": "plots.link_time",
            "draw_advice": "collectives.pictures",
            "draw_busy": "collectives.pictures",
            "draw_comparison": "tables.by_source.pictures",
            "draw_fabric": "fabric.pictures",
            "draw_network": "fabric.pictures",
            "draw_placement": "placing.pictures",
            "plot_load_curves": "load.pictures",
            "plot_responses": "load.pictures",
            "plot_series": "load.pictures",
            "plot_space_time": "plots.space_time",
            "plot_stackings": "scheduling.pictures",
        },
    )

__all__ = [
    "compare_link_time",
    "draw_advice",
    "draw_busy",
    "draw_comparison",
    "draw_fabric",
    "draw_network",
    "draw_placement",
    "plot_load_curves",
    "plot_responses",
    "plot_series",
    "plot_space_time",
    "plot_stackings",
]
