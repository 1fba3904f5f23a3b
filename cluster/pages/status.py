"""What runs here and what is missing: the doctor's report as a page."""

from django.http import HttpRequest, HttpResponse

from cluster.models import Tick
from cluster.pages.page import page, render_page
from cluster.selectors.doctor import examine

_TICKS = 20


@page
def status_page(request: HttpRequest) -> HttpResponse:
    ticks = list(Tick.objects.order_by("-number").select_related("policy")[:_TICKS])
    context = {
        "report": examine(),
        "ticks": ticks,
        "solved": [(tick, each) for tick in ticks for each in tick.solver],
    }
    return render_page(request, "cluster/status.html", context, here="status")
