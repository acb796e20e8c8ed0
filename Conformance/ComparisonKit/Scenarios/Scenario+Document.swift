import ConformanceKit
import Experimentation
import Foundation

extension Scenario {
    /// Parses a scenario from a document.
    ///
    /// - Throws: An error that names the document, the line, the key and what was expected.
    public init(_ source: SourceDocument) throws(DocumentError) {
        self = try source.read { (reader) throws(DocumentError) in try Scenario(reading: &reader) }
    }

    init(reading reader: inout DocumentReader) throws(DocumentError) {
        let name = try reader.name("name")
        let title = try reader.optionalString("title") ?? name
        let summary = try reader.optionalString("summary") ?? ""
        let world = try Self.world(&reader)
        let count = reader.value("steps").arrayValue?.count ?? 0
        guard count <= Self.longest else {
            throw reader.error("steps", "expected at most \(Self.longest) steps, found \(count)")
        }
        let steps = try reader.each("steps") { (reader) throws(DocumentError) in try Step(reading: &reader) }
        guard !steps.isEmpty else {
            let found = reader.has("steps") ? "an empty one" : "nothing"
            throw reader.error("steps", "expected a list of at least one step, found \(found)")
        }
        self.init(name: name, title: title, summary: summary, world: world, steps: steps)
        var plot = Plot(world: world)
        for (index, step) in steps.enumerated() {
            if let problem = plot.play(step.action) {
                throw reader.error("steps[\(index)].\(step.action.key)", problem)
            }
        }
    }

    private static func world(_ reader: inout DocumentReader) throws(DocumentError) -> World {
        if let name = reader.value("world").stringValue {
            guard let world = World.named.first(where: { $0.name == name }) else {
                let known = World.named.map(\.name).joined(separator: ", ")
                throw reader.wrong("world", expected: "a world, or the name of one: \(known)")
            }
            return world
        }
        guard reader.has("world") else { throw reader.wrong("world", expected: "a world, or the name of one") }
        var nested = try reader.reader("world")
        let world = try World(reading: &nested)
        try nested.finish()
        return world
    }

    /// The document form, as read by ``init(_:)``.
    public var document: FlagValue {
        let named = World.named.contains(world)
        var members: [String: FlagValue] = [
            "name": .string(name), "title": .string(title),
            "world": named ? .string(world.name) : world.document, "steps": .array(steps.map(\.document)),
        ]
        if !summary.isEmpty { members["summary"] = .string(summary) }
        return .object(members)
    }
}

extension Scenario: Codable {
    /// Decodes the document form.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer().decode(FlagValue.self)
        do {
            try self.init(SourceDocument(name: "scenario", value: value))
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: error.description)
            )
        }
    }

    /// Encodes the document form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(document)
    }
}

extension Scenario.Step {
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        let title = try reader.optionalString("title")
        let present = Scenario.Action.keys.filter { reader.has($0) }
        guard let key = present.first, present.count == 1 else {
            let found = present.isEmpty ? "none" : present.joined(separator: " and ")
            throw DocumentError(
                document: reader.document,
                path: reader.path,
                problem:
                    "expected exactly one of \(Scenario.Action.keys.joined(separator: ", ")); found \(found)"
            )
        }
        self.init(title, try Self.action(key, &reader))
    }

    private static func action(
        _ key: String,
        _ reader: inout DocumentReader
    ) throws(DocumentError) -> Scenario.Action {
        switch key {
        case "arrive": return .arrive(userID: try reader.name(key))
        case "read":
            let flag = try reader.name(key)
            guard reader.has("default") else {
                throw reader.wrong("default", expected: "the value to use when there is no other")
            }
            return .read(flag: flag, default: reader.value("default"))
        case "see": return .see(experiment: try reader.name(key))
        case "track":
            let times = try reader.optionalInt("times", in: 1...Scenario.mostEvents) ?? 1
            return .track(try events(&reader), times: times)
        case "fault": return .fault(try faults(&reader))
        case "network":
            let word: Network = try reader.choice(key)
            return .network(isReachable: word == .back)
        case "killSwitch": return .killSwitch(isOn: try reader.bool(key, default: false))
        case "consent": return .consent(try consent(&reader))
        case "logIn":
            var nested = try reader.reader(key)
            let user = try User(reading: &nested)
            try nested.finish()
            return .logIn(user)
        case "wait": return .wait(seconds: try reader.int(key, in: 1...31_536_000))
        default:
            guard try reader.bool(key, default: false) else { throw reader.wrong(key, expected: "true") }
            return key == "refresh" ? .refresh : key == "flush" ? .flush : .restart
        }
    }

    private enum Network: String, CaseIterable { case away, back }

    private static func consent(_ reader: inout DocumentReader) throws(DocumentError) -> Consent {
        guard let word = reader.value("consent").stringValue, let consent = Consent(rawValue: word) else {
            throw reader.wrong("consent", expected: "one of unknown, granted, denied")
        }
        return consent
    }

    private static func events(_ reader: inout DocumentReader) throws(DocumentError) -> [TrackingEvent] {
        let value = reader.value("track")
        guard let list = value.arrayValue else {
            return [try TrackingEvent(document: value, named: reader.document, at: "\(reader.path).track")]
        }
        guard !list.isEmpty else { throw reader.wrong("track", expected: "an event, or a list of events") }
        var events: [TrackingEvent] = []
        for (index, value) in list.enumerated() {
            events.append(
                try TrackingEvent(document: value, named: reader.document, at: "\(reader.path).track[\(index)]")
            )
        }
        return events
    }

    private static func faults(_ reader: inout DocumentReader) throws(DocumentError) -> [WorldFault] {
        if reader.value("fault").arrayValue != nil {
            return try reader.each("fault") { (reader) throws(DocumentError) in try WorldFault(reading: &reader) }
        }
        var nested = try reader.reader("fault")
        let fault = try WorldFault(reading: &nested)
        try nested.finish()
        return [fault]
    }

    var document: FlagValue {
        var members: [String: FlagValue] = [:]
        if title != action.sentence { members["title"] = .string(title) }
        members[action.key] =
            switch action {
            case .arrive(let userID): .string(userID)
            case .refresh, .flush, .restart: true
            case .read(let flag, _): .string(flag)
            case .see(let experiment): .string(experiment)
            case .track(let events, _): Self.single(events.map(Self.document))
            case .fault(let faults): Self.single(faults.map(\.document))
            case .network(let isReachable): isReachable ? "back" : "away"
            case .killSwitch(let isOn): .bool(isOn)
            case .consent(let consent): .string(consent.rawValue)
            case .logIn(let user): user.document
            case .wait(let seconds): .int(seconds)
            }
        if case .read(_, let fallback) = action { members["default"] = fallback }
        if case .track(_, let times) = action, times != 1 { members["times"] = .int(times) }
        return .object(members)
    }

    private static func single(_ values: [FlagValue]) -> FlagValue {
        values.count == 1 ? values[0] : .array(values)
    }

    // An event that was parsed from JSON can be encoded again.
    private static func document(of event: TrackingEvent) -> FlagValue {
        let bytes = (try? JSONEncoder().encode(event)) ?? Data()
        return (try? JSONDecoder().decode(FlagValue.self, from: bytes)) ?? .null
    }
}
