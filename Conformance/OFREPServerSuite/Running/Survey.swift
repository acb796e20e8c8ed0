import AdapterKit
import Experimentation

/// What is known of a server before the first case.
struct Survey: Sendable {
    /// The flags that the server returns for the context.
    var items: [FlagItem] = []
    /// The raw bulk answer.
    var bulk: Reply?
    /// The optional features that were detected.
    var features: Set<ServerFeature> = []

    /// The flags that didn't fail.
    var good: [FlagItem] { items.filter { !$0.isFailure && !$0.key.isEmpty } }
    /// The tag of the bulk answer.
    var tag: String? { bulk?.field("ETag") }
    /// The paths of the event streams, as given in the bulk answer.
    var streams: [FlagValue] {
        guard case .array(let streams)? = bulk?.members["eventStreams"] else { return [] }
        return streams
    }

    /// A key that no flag has.
    static let absent = "no-such-flag-7f3a"

    /// Surveys a server.
    ///
    /// - Throws: ``Trouble``, if it doesn't answer.
    static func of(_ server: OFREPServer, time: Duration, transport: any HTTPTransport) async throws -> Survey {
        var survey = Survey()
        let probe = ServerProbe(server, survey: survey, time: time, transport: transport)
        let bulk = try await probe.ask(.all(probe.context))
        survey.bulk = bulk
        survey.items = bulk.items
        if bulk.field("ETag") != nil { survey.features.insert(.entityTags) }
        if !survey.streams.isEmpty { survey.features.insert(.eventStreams) }
        if let token = server.token {
            var ask = Ask.all(probe.context)
            ask.access = .apiKey(token)
            if try await probe.ask(ask).status == 200 { survey.features.insert(.apiKeys) }
        }
        return survey
    }
}
