import { readdirSync } from "node:fs";

import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const features = readdirSync(new URL("src/features", import.meta.url));

/** Forbids imports of the given groups in the given folder. */
function boundary(files, group, message) {
  return {
    files,
    rules: { "no-restricted-imports": ["error", { patterns: [{ group, message }, UPWARD] }] },
  };
}

const UPWARD = { group: ["../*"], message: "Import from another folder as @/…" };

export default tseslint.config(
  { ignores: ["node_modules", "src/lib/api/schema.ts"] },
  ...tseslint.configs.strict,
  {
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      // These speak to the React Compiler, which is not used here.
      "react-hooks/preserve-manual-memoization": "off",
      "react-hooks/incompatible-library": "off",
      complexity: ["error", 10],
      "max-lines": ["error", 300],
      "no-console": "error",
      eqeqeq: "error",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-invalid-void-type": "off",
      "@typescript-eslint/consistent-type-imports": "error",
    },
  },
  ...features.map((feature) =>
    boundary(
      [`src/features/${feature}/**`],
      ["@/app/*", ...features.filter((other) => other !== feature).flatMap((o) => [`@/features/${o}`, `@/features/${o}/**`])],
      "A feature never imports another feature, nor the app. Move what both need to components, hooks or lib.",
    ),
  ),
  boundary(["src/components/**"], ["@/app/*", "@/features/*"], "Components know no feature."),
  boundary(["src/hooks/**"], ["@/app/*", "@/features/*", "@/components/*"], "Hooks know no component."),
  boundary(
    ["src/lib/**"],
    ["@/app/*", "@/features/*", "@/components/*", "@/hooks/*", "react", "react-dom"],
    "lib is plain TypeScript.",
  ),
);
