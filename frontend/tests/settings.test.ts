import { describe, expect, it } from "vitest";

import { changesOf, modelsOf, urlProblem } from "@/features/settings/connection-fields";
import { labelProblem, rowsOf } from "@/features/settings/labels";
import { ABILITIES, covers, mayManage, ROLES } from "@/features/settings/roles";
import type { Connection } from "@/lib/api/types";

describe("roles", () => {
  it("each may do what the one below may", () => {
    for (const { from } of ABILITIES) expect(ROLES.map((role) => covers(role, from))).toEqual(ROLES.map((_, index) => index >= ROLES.indexOf(from)));
  });
  it("let owners manage anybody, admins all but owners, others nobody", () => {
    expect(ROLES.filter((role) => mayManage("owner", role))).toEqual([...ROLES]);
    expect(ROLES.filter((role) => mayManage("admin", role))).toEqual(["viewer", "member", "admin"]);
    expect(ROLES.filter((role) => mayManage("member", role))).toEqual([]);
  });
});

describe("the address of a connection", () => {
  it.each(["https://api.openai.com/v1", "http://127.0.0.1:8000/v1", ""])("may be %j", (url) => expect(urlProblem(url)).toBeNull());
  it.each(["api.openai.com", "ftp://x", "https://h/v1?key=1", "https://user:secret@h/v1", "https://h/v1/chat/completions"])("may not be %s", (url) => expect(urlProblem(url)).not.toBeNull());
});

describe("the models of a connection", () => {
  it("are one a line or separated by commas, each once", () => expect(modelsOf(" a, b\n\nb\nc ")).toEqual(["a", "b", "c"]));
});

describe("a changed connection", () => {
  const before = { name: "A", base_url: "https://h/v1", models: ["m"], has_api_key: true } as Connection;
  const same = { name: "A", base_url: "https://h/v1", models: ["m"] };
  it("sends only what is different, so the key stays", () => expect(changesOf(before, { ...same, name: "B" })).toEqual({ name: "B" }));
  it("sends a key that was typed", () => expect(changesOf(before, { ...same, api_key: "k" })).toEqual({ api_key: "k" }));
  it("sends models in their new order", () => expect(changesOf(before, { ...same, models: ["n", "m"] })).toEqual({ models: ["n", "m"] }));
});

describe("labels of prompts", () => {
  const uses = [
    { name: "latest", is_protected: false, num_prompts: 4 },
    { name: "beta", is_protected: true, num_prompts: 2 },
  ];
  it("stand with production first, whoever knows of them", () => {
    const rows = rowsOf(uses, { staging: 2 }, ["alpha"]);
    expect(rows.map(({ name, isProtected, approvals, prompts }) => [name, isProtected, approvals, prompts])).toEqual([
      ["production", false, 0, 0],
      ["alpha", false, 0, 0],
      ["beta", true, 0, 2],
      ["staging", false, 2, 0],
    ]);
  });
  it.each(["latest", "Prod", "a b", "12", "beta"])("may not be %s", (name) => expect(labelProblem(name, ["beta"])).not.toBeNull());
  it.each(["prod", "eu.prod-2"])("may be %s", (name) => expect(labelProblem(name, ["beta"])).toBeNull());
});
