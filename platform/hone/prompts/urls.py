from django.urls import path

from hone.prompts.api import file_views, label_views, measure_views, public, render_views, views

PROMPTS = "projects/<slug:project>/prompts"
PROMPT = f"{PROMPTS}/<path:name>"
PUBLIC = "public/v2/prompts"

# A name may hold slashes, so what follows a name is matched first.
urlpatterns = [
    path(PROMPTS, views.Prompts.as_view()),
    path("projects/<slug:project>/prompt-files", file_views.PromptFiles.as_view()),
    path("projects/<slug:project>/prompt-labels", label_views.ProjectLabels.as_view()),
    path("projects/<slug:project>/prompt-trends", measure_views.Trends.as_view()),
    path(f"{PROMPT}/versions", views.Versions.as_view()),
    path(f"{PROMPT}/versions/measures", measure_views.Measures.as_view()),
    path(f"{PROMPT}/versions/compared", measure_views.Comparison.as_view()),
    path(f"{PROMPT}/versions/<int:number>", views.VersionDetail.as_view()),
    path(f"{PROMPT}/versions/<int:number>/copy", views.VersionCopy.as_view()),
    path(f"{PROMPT}/versions/<int:number>/calls", measure_views.VersionCalls.as_view()),
    path(f"{PROMPT}/labels/<str:label>", label_views.LabelDetail.as_view()),
    path(f"{PROMPT}/labels/<str:label>/split", label_views.LabelSplit.as_view()),
    path(f"{PROMPT}/render", render_views.Render.as_view()),
    path(PUBLIC, public.PublicPrompts.as_view()),
    path(f"{PUBLIC}/<path:name>/versions/<int:number>", public.PublicVersion.as_view()),
    path(f"{PUBLIC}/<path:name>", public.PublicPrompt.as_view()),
    path(PROMPT, views.PromptDetail.as_view()),
]
