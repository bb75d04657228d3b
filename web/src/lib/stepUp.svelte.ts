/** The dialog for a proof of identity. All requests that need a proof wait for the same dialog. */
class StepUp {
  open = $state(false);
  #waiting: ((confirmed: boolean) => void)[] = [];

  /** Opens the dialog and reports whether the user confirmed their identity. */
  confirm(): Promise<boolean> {
    this.open = true;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Closes the dialog and resumes the waiting requests. */
  close(confirmed: boolean): void {
    this.open = false;
    for (const resume of this.#waiting.splice(0)) resume(confirmed);
  }
}

export const stepUp = new StepUp();
