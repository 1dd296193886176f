declare const __APP_VERSION__: string;

/** What the desktop shell puts on the page (Wails v2). All of it is missing in a browser. */
interface Window {
  go?: { main?: { App?: Record<string, (...args: unknown[]) => Promise<unknown>> } };
  runtime?: {
    BrowserOpenURL?(url: string): void;
    ClipboardSetText?(text: string): Promise<boolean>;
    ClipboardGetText?(): Promise<string>;
    InitializeNotifications?(): Promise<unknown>;
    SendNotification?(options: { id: string; title: string; body: string; data?: object }): Promise<unknown>;
    EventsOn?(name: string, callback: (...data: unknown[]) => void): () => void;
  };
}
