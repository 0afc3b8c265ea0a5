import "./login.css";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Redirect, useSearch } from "wouter";

import { Button } from "@/components/button";
import { Field, Input } from "@/components/field";
import { useTitle } from "@/hooks/use-title";
import { api, messageOf } from "@/lib/api/client";
import { sessionQuery } from "@/lib/api/queries";
import type { Session } from "@/lib/api/types";

/** Only paths of this app: an address of elsewhere after sign-in would be a trap. */
function nextPath(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}

export default function LoginPage() {
  const queries = useQueryClient();
  const search = useSearch();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  useTitle("Sign in");
  const signIn = useMutation({
    mutationFn: () => api.post<Session>("auth/login", { email, password }),
    onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
  });
  if (queries.getQueryData(sessionQuery.queryKey)) return <Redirect to={nextPath(search)} replace />;

  return (
    <main className="login">
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate();
        }}
      >
        <div className="login-head">
          <img src="/icon.svg" width={32} height={32} alt="" />
          <h1>Sign in to Hone</h1>
        </div>
        <Field label="Email">
          <Input type="email" name="email" autoComplete="username" required autoFocus value={email} onChange={(event) => setEmail(event.target.value)} />
        </Field>
        <Field label="Password" error={signIn.error ? messageOf(signIn.error) : null}>
          <Input type="password" name="password" autoComplete="current-password" required value={password} onChange={(event) => setPassword(event.target.value)} />
        </Field>
        <Button type="submit" variant="primary" className="login-button" busy={signIn.isPending}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
