/** Earlier prompts with Up and Down in an empty composer; what was begun comes back at the end. */
export class Recall {
  private list: readonly string[] = [];
  private at = -1;
  private begun = '';

  get active(): boolean {
    return this.at >= 0;
  }

  /** Begins with what was written last. null when there is nothing. */
  begin(list: readonly string[], draft: string): string | null {
    if (!list.length) return null;
    this.list = list;
    this.begun = draft;
    this.at = 0;
    return list[0]!;
  }

  older(): string | null {
    if (this.at < 0 || this.at + 1 >= this.list.length) return null;
    return this.list[++this.at]!;
  }

  /** The one before it, or at the end what was begun. */
  newer(): string | null {
    if (this.at < 0) return null;
    this.at--;
    return this.at < 0 ? this.begun : this.list[this.at]!;
  }

  leave(): void {
    this.at = -1;
  }

  /** What was begun, for Escape. */
  undo(): string | null {
    if (this.at < 0) return null;
    this.at = -1;
    return this.begun;
  }
}
