import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import OFREPAdapter

/// The faults that the server suite plants, as an application meets them: what each changes, and nothing else.
@Suite("OFREP: each fault of the server suite, behind the client")
struct ServerFaultTests {
    /// What a session reads in three steps: at first, as another user plan, and after the server's flags have changed.
    struct Reading: Equatable, Sendable, CustomTestStringConvertible {
        var refusals: [ErrorCode?] = [nil, nil, nil]
        var colors = ["green", "green", "red"]
        var plans = ["small", "large", "large"]
        var isOn = true
        var count = 7
        var price = 10.0
        var fraction = 0.25
        var object: FlagValue = ["a": [1, 2]]
        var absent = "default"
        var empty = "default"
        var reason = Reason.static
        var variant: String? = "default"

        var testDescription: String { "\(self)" }

        /// The correct server's reading, with what a fault changes.
        static func honest(_ change: (inout Reading) -> Void = { _ in }) -> Reading {
            var reading = Reading()
            change(&reading)
            return reading
        }
    }

    /// What an application notices.
    ///
    /// A fault that isn't here must not be noticed at all.
    static let noticed: [OFREPServerFault: Reading] = [
        // A false 304 can't be distinguished from a true one.
        .tagOfTheUserAlone: .honest { $0.colors = ["green", "green", "green"] },
        .floatsWithoutFraction: .honest { $0.fraction = 0 },
        .ignoresAttributes: .honest { $0.plans = ["small", "small", "small"] },
        .noVariant: .honest { $0.variant = nil },
        .strangeReason: .honest { $0.reason = Reason(rawValue: "BECAUSE") },
        // Above 2^53 a JSON number is not exact for every client of the protocol, but it is for this one.
        .hugeIntegers: .honest { $0.count = 9_007_199_254_740_993 },
    ]

    private static func flags(color: String) -> Data {
        Data(
            #"""
            {"flags":{
              "switch":{"value":true},"color":{"value":"\#(color)"},"count":{"value":7},
              "price":{"value":10,"float":true},"fraction":{"value":0.25,"float":true},"object":{"value":{"a":[1,2]}},
              "empty":{"value":"set","disabled":true},"a/b":{"value":"slash"},
              "plan":{"value":"small","rules":[
                {"when":[{"attribute":"plan","comparison":"equals","value":"pro"}],"value":"large"}]}}}
            """#.utf8
        )
    }

    @Test("is read as the protocol means it, or as a safe default", arguments: OFREPServerFault.allCases)
    func reading(fault: OFREPServerFault) async throws {
        let mock = OFREPMock()
        mock.setOffersEvents(false)
        try await mock.load(Self.flags(color: "green"))
        mock.set(server: fault)
        let server = MockServer(mock)
        try await server.start()
        let client = try await ExperimentationClient(
            provider: OFREPProvider(
                configuration: OFREPConfiguration(
                    baseURL: try Endpoint(server.url),
                    token: Secret(OFREPMock.token),
                    changes: .none,
                    retry: .none
                )
            ),
            environment: ClientEnvironment(time: ManualTime())
        )
        let session = client.session(for: User(id: "u-1"))
        var reading = Reading()
        for step in 0..<3 {
            if step == 1 { try session.update(["plan": "pro"]) }
            if step == 2 { try await mock.load(Self.flags(color: "red")) }
            do { try await session.refresh() } catch { reading.refusals[step] = error.code }
            reading.colors[step] = session.string("color", default: "default")
            reading.plans[step] = session.string("plan", default: "default")
        }
        reading.isOn = session.bool("switch", default: false)
        reading.count = session.int("count", default: -1)
        reading.price = session.double("price", default: -1)
        reading.fraction = session.double("fraction", default: -1)
        reading.object = session.value("object", default: .null)
        reading.absent = session.string("absent", default: "default")
        reading.empty = session.string("empty", default: "default")
        let details = session.details("color", default: "default")
        (reading.reason, reading.variant) = (details.reason, details.variant)
        #expect(reading == Self.noticed[fault] ?? .honest())
        await client.shutdown()
        await server.stop()
    }

    @Test(
        "a stream that breaks the protocol takes no flag away, and a refresh sees what has changed",
        arguments: [OFREPServerFault.streamIsText, .streamEndsAtOnce, .streamTellsValues, .streamIsForEverybody]
    )
    func streams(fault: OFREPServerFault) async throws {
        let mock = OFREPMock()
        try await mock.load(Self.flags(color: "green"))
        mock.set(server: fault)
        let server = MockServer(mock)
        try await server.start()
        let client = try await ExperimentationClient(
            provider: OFREPProvider(
                configuration: OFREPConfiguration(baseURL: try Endpoint(server.url), token: Secret(OFREPMock.token))
            ),
            environment: ClientEnvironment(time: ManualTime(), jitter: { 0 })
        )
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        #expect(session.string("color", default: "default") == "green")
        try await mock.load(Self.flags(color: "red"))
        try await session.refresh()
        #expect(session.string("color", default: "default") == "red")
        await client.shutdown()
        await server.stop()
    }
}
