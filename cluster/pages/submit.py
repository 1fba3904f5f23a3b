"""Submit a job."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from cluster.pages.job_form import JobForm
from cluster.pages.page import page, render_page


@page
def new_job(request: HttpRequest) -> HttpResponse:
    grants = request.grants  # type: ignore[attr-defined]
    form = JobForm(grants, request.POST or None, initial={"tenant": request.GET.get("tenant", "")})
    if request.method == "POST" and form.is_valid():
        job = form.submit(request.user)  # type: ignore[arg-type]
        if job is not None:
            messages.success(request, f"{job.name} is in the queue as job {job.pk}. The next tick decides.")
            return redirect("job", job.pk)
    status = 400 if form.errors else 200
    return render_page(request, "cluster/new_job.html", {"form": form}, here="job-new", status=status)
