from django.urls import path

from hone.collab.api import history_views, policy_views, presence_views, review_views, views

PROMPT = "projects/<slug:project>/prompts/<path:name>"
DRAFT = "projects/<slug:project>/drafts/<uuid:draft>"

urlpatterns = [
    path(f"{PROMPT}/drafts", views.PromptDrafts.as_view()),
    path(f"{PROMPT}/drafts/graph", policy_views.PromptGraphView.as_view()),
    path(f"{PROMPT}/drafts/main", views.PromptMainDraft.as_view()),
    path("projects/<slug:project>/presence", presence_views.ProjectPresence.as_view()),
    path("projects/<slug:project>/review-policy", policy_views.ReviewPolicyView.as_view()),
    path(f"{DRAFT}/merge", review_views.DraftMergeView.as_view()),
    path(f"{DRAFT}/comments", review_views.DraftComments.as_view()),
    path(f"{DRAFT}/comments/<uuid:comment>", review_views.DraftCommentDetail.as_view()),
    path(f"{DRAFT}/proposals", review_views.DraftProposals.as_view()),
    path(f"{DRAFT}/proposal", review_views.DraftProposal.as_view()),
    path(f"{DRAFT}/proposal/verdicts", review_views.ProposalVerdicts.as_view()),
    path(f"{DRAFT}/proposal/publish", review_views.ProposalPublish.as_view()),
    path(DRAFT, views.DraftDetail.as_view()),
    path(f"{DRAFT}/publish", views.DraftPublishView.as_view()),
    path(f"{DRAFT}/token", views.DraftToken.as_view()),
    path(f"{DRAFT}/history", history_views.DraftHistoryView.as_view()),
    path(f"{DRAFT}/states/<int:seq>", history_views.DraftStateView.as_view()),
    path(f"{DRAFT}/restore", history_views.DraftRestoreView.as_view()),
    path(f"{DRAFT}/moments", views.DraftMoments.as_view()),
    path(f"{DRAFT}/moments/<int:seq>", views.DraftMomentDetail.as_view()),
]
