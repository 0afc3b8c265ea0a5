import { Component, type ReactNode } from "react";

import { Failure } from "@/components/states";

/** A page that breaks leaves the rest of the app standing. A new build may have replaced its files: reload. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Failure what="This page broke" error={this.state.error} kept="What was saved is safe." retry={() => window.location.reload()} />;
  }
}
