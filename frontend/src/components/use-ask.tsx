import { lazy, Suspense, useState, type ReactNode } from "react";

const Confirm = lazy(() => import("./confirm"));

interface Question {
  title: string;
  /** What is lost. */
  description: string;
  /** The verb of the button. */
  action: string;
  run: () => void;
}

/** Asks before what cannot be undone: `ask(question)` opens the dialog, which is to be shown. */
export function useAsk(): { ask: (question: Question) => void; dialog: ReactNode } {
  const [question, setQuestion] = useState<Question | null>(null);
  const close = () => setQuestion(null);
  const confirmed = () => {
    question?.run();
    close();
  };
  return { ask: setQuestion, dialog: <Suspense>{question && <Confirm {...question} onConfirm={confirmed} onClose={close} />}</Suspense> };
}
