// The search of the documentation runs in a worker, which browsers refuse to pages from a disk. There, a hidden frame
// stands in for it; the theme looks for this name.
"use strict";

window.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = frame.contentWindow;
    this.frame = frame;
    this.waiting = [];
    inside.postMessage = (data) => {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    };
    inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
    this.load(String(url)).then(() => {
      const { waiting } = this;
      this.waiting = null;
      for (const data of waiting) this.postMessage(data);
    });
  }

  load(url) {
    const script = this.frame.contentDocument.createElement("script");
    script.src = url;
    return new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = reject;
      this.frame.contentDocument.body.append(script);
    });
  }

  postMessage(data) {
    if (this.waiting) this.waiting.push(data);
    else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
  }

  terminate() {
    this.frame.remove();
  }
};
if (location.protocol === "file:") window.Worker = window.IFrameWorker;
