from django.urls import path

from hone.accounts.api import keys, members, projects, public, sessions

urlpatterns = [
    path("auth/login", sessions.Login.as_view()),
    path("auth/logout", sessions.Logout.as_view()),
    path("auth/me", sessions.WhoAmI.as_view()),
    path("auth/password", sessions.Password.as_view()),
    path("public/projects", public.PublicProjects.as_view()),
    path("organizations", projects.Organizations.as_view()),
    path("projects", projects.Projects.as_view()),
    path("projects/<slug:project>", projects.ProjectDetail.as_view()),
    path("projects/<slug:project>/keys", keys.Keys.as_view()),
    path("projects/<slug:project>/keys/<int:key_id>", keys.KeyDetail.as_view()),
    path("projects/<slug:project>/members", members.Members.as_view()),
    path("projects/<slug:project>/members/<int:member_id>", members.MemberDetail.as_view()),
]
