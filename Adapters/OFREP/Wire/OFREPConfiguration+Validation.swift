import AdapterKit
import Experimentation
import HTTPTypes

extension OFREPConfiguration {
    /// The header fields that the adapter sets itself.
    private static let ownFields: Set<String> = [
        "accept", "cache-control", "content-type", "if-none-match", "last-event-id",
    ]

    /// Validates the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` naming the setting.
    func validate() throws(ExperimentationError) {
        func refuse(_ text: String) -> ExperimentationError { ExperimentationError(.configuration, "OFREP: \(text)") }
        if timeout <= .zero { throw refuse("timeout must be greater than zero") }
        if pollingInterval <= .zero { throw refuse("pollingInterval must be greater than zero") }
        if retry.attempts < 1 { throw refuse("a question must be asked once at least") }
        if eventsPath != nil, eventsSegments == nil {
            throw refuse("events must be a path below the address, such as v1/events")
        }
        for (name, secret) in [("token", token), ("apiKey", apiKey)] {
            guard let text = secret?.reveal() else { continue }
            if text.isEmpty || !HTTPField.isValidValue(text) { throw refuse("\(name) is empty or can't be sent") }
        }
        var names: [String: String] = [:]
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard let field = HTTPField.Name(name) else {
                throw refuse("headers: \"\(name)\" isn't a header field's name")
            }
            let isTaken =
                Self.ownFields.contains(field.canonicalName) || (field.canonicalName == "authorization" && token != nil)
                || (field.canonicalName == "x-api-key" && apiKey != nil)
            if isTaken { throw refuse("headers: \(name) is set by the adapter") }
            if let other = names.updateValue(name, forKey: field.canonicalName) {
                throw refuse("headers: \(other) and \(name) are the same header field")
            }
            if !HTTPField.isValidValue(value.reveal()) { throw refuse("headers: the value of \(name) can't be sent") }
        }
        // Header fields reserved by the engine are rejected here rather than on the first request.
        _ = try OFREPRequests(self).evaluation(unless: nil, after: nil).validated()
    }
}
