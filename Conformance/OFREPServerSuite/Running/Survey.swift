import AdapterKit
import Experimentation

/// What was found out about a server before the first case.
struct Survey: Sendable {
    /// The flags that the server gives for the context.
    var items: [FlagItem] = []
    /// The raw bulk answer.
    var bulk: Reply?
    /// What was seen of optional features.
    var features: Set<ServerFeature> = []

    /// The flags that are no failures.
    var good: [FlagItem] { items.filter { !$0.isFailure && !$0.key.isEmpty } }
    /// The tag of the bulk answer.
    var tag: String? { bulk?.field("ETag") }
    /// The paths of the event streams, as they stand in the bulk answer.
    var streams: [FlagValue] {
        guard case .array(let streams)? = bulk?.members["eventStreams"] else { return [] }
        return streams
    }

    /// A key that no flag has.
    static let absent = "no-such-flag-7f3a"

    /// Asks a server for what can be found out.
    ///
    /// - Throws: ``Trouble``, if nobody answers.
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
