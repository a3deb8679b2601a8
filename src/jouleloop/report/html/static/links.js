"use strict";
// A link to every point: the address of the page with the names of sweep, architecture and layer.
(() => {
  const KEY = "#point=";

  JL.address = (sweep, group, index) =>
    KEY + [sweep.name, JL.label(sweep, group), group.layers[index]].map(encodeURIComponent).join("/");

  // The names in an address; null where it is no point's.
  JL.named = (address) => {
    if (!address.startsWith(KEY)) return null;
    try { return address.slice(KEY.length).split("/").map(decodeURIComponent); } catch { return null; }
  };

  // The address bar follows the selected point, so that it can be copied from there.
  JL.link = (sweep, group, index) => {
    try { history.replaceState(null, "", JL.address(sweep, group, index)); } catch { /* a page in a sandbox keeps its address */ }
  };
})();
