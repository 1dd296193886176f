/**
 * The window paints its still surfaces, then the app is loaded: reading a few hundred kilobytes of
 * script before the first frame would keep the window blank for as long. A window that is not shown
 * gets no frame, so a moment later it starts all the same.
 */
let begun = false;

function begin(): void {
  if (begun) return;
  begun = true;
  void import('./main');
}

requestAnimationFrame(() => setTimeout(begin));
setTimeout(begin, 100);
