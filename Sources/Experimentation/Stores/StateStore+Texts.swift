extension StateStore {
    /// The text of a key, or `nil`.
    package func text(for key: String) async throws(ExperimentationError) -> String? {
        try await value(for: key).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Sets a text, as ``setValue(_:for:)`` does.
    package func setText(_ text: String, for key: String) async throws(ExperimentationError) {
        try await setValue(Array(text.utf8), for: key)
    }
}
