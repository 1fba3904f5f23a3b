"""The schema as a file, the page that browses it, and the answer for addresses that lead nowhere."""

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.decorators import api_view, permission_classes, schema
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response


class SchemaFile(SpectacularAPIView):
    """Open to everybody: it says what can be asked, not what would be answered."""

    content_negotiation_class = SpectacularAPIView.content_negotiation_class


class Docs(SpectacularSwaggerSplitView):
    """Swagger UI out of the sidecar package: nothing inline, nothing from elsewhere."""

    url_name = "api-schema"
    template_name = "cluster/api_docs.html"


@extend_schema(exclude=True)
@api_view(["GET", "POST", "PUT", "PATCH", "DELETE"])
@permission_classes([AllowAny])
@schema(None)
def nothing_here(request: Request) -> Response:
    raise NotFound(
        f"there is nothing at {request.path}; /api/v1/ lists what there is, /api/docs/ explains it"
    )
