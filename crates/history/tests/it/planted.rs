//! Every kind of violation, planted into valid histories, is found.
