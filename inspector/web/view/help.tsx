import { useEffect, useRef } from "preact/hooks";
import { isHelpOpen } from "../model/look";
import { SHORTCUTS } from "../model/shortcuts";
import { IconButton } from "./parts";

/** The keys that do something. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isHelpOpen.value]);
  return (
    <dialog ref={dialog} aria-label="Keyboard shortcuts" onClose={() => (isHelpOpen.value = false)}>
      <header>
        <h2>Keyboard</h2>
        <IconButton icon="close" label="Close" onClick={() => (isHelpOpen.value = false)} />
      </header>
      <dl class="keys">
        {SHORTCUTS.map(({ keys, what }) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
