import AdapterKit
import BenchmarkHarness
import EngageAdapter
import Experimentation
import ExperimentationSQLite
import Foundation
import HTTPTypes
import MockVendors

/// Behaviors through the whole adapter, compared with the same bodies posted by the engine alone.
enum BehaviorRates {
    static let total = 10_000

    static func measure(_ table: inout Table, folder: URL) async throws {
        let whole = try await run(store: .sqlite(at: folder.appending(path: "outbox.sqlite")))
        let bare = try await post(whole.bodies, toMock: true)
        table.add("requests for \(total) behaviours", Double(whole.bodies.count), unit: "")
        table.add("the same bodies, posted to the mock by the engine alone", bare, unit: "/s")
        table.add("tracked, stored, augmented, delivered to the mock", whole.rate, unit: "/s")
        table.add("all of it / posting alone", whole.rate / bare, atLeast: 1 / 3, unit: "×")
        let mute = try await post(whole.bodies, toMock: false)
        table.add("the same bodies to a server that reads nothing", mute, unit: "/s")
    }

    /// Measures the steps separately.
    static func breakDown(_ table: inout Table, folder: URL) async throws {
        func store(_ name: String) async throws -> ClientStore { try await .sqlite(at: folder.appending(path: name)) }
        for producers in [1, 8] {
            table.add(
                "\(producers) producers",
                try await run(producers, store: store("a\(producers)")).rate,
                unit: "/s"
            )
            table.add("… in memory", try await run(producers, store: .inMemory()).rate, unit: "/s")
            let plain = try await run(producers, store: store("b\(producers)"), isAugmented: false)
            table.add("… without plug-ins", plain.rate, unit: "/s")
            let least = try await run(producers, store: .inMemory(), isAugmented: false)
            table.add("… in memory, without plug-ins", least.rate, unit: "/s")
            table.add("… posted alone", try await post(least.bodies, toMock: true), unit: "/s")
            table.add("… to a server that reads nothing", try await post(least.bodies, toMock: false), unit: "/s")
        }
    }

    /// Tracks from several tasks as fast as events are accepted, with delivery in parallel.
    private static func run(
        _ producers: Int = 8,
        store: ClientStore,
        isAugmented: Bool = true
    ) async throws -> (rate: Double, bodies: [[UInt8]]) {
        let server = MockServer(EngageMock())
        try await server.start()
        let provider = EngageProvider(configuration: try configuration(server.url, isAugmented: isAugmented))
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "u-1"))
        let rate = try await rate {
            try await withThrowingTaskGroup { group in
                for producer in 0..<producers {
                    group.addTask {
                        for number in stride(from: producer, to: total, by: producers) {
                            try await session.track(
                                .custom("PLAYER LOADED", attributes: ["View": "Home", "Number": .int(number)])
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
            while try await !client.flush().isDone {}
        }
        let ledger = try await client.ledger()
        precondition(ledger == Ledger(accepted: total, delivered: total))
        await client.shutdown()
        let bodies = server.journal.filter { $0.operation == "events" }.map(\.request.body)
        await server.stop()
        return (rate, bodies)
    }

    /// Posts bodies with the adapter's engine and nothing else.
    private static func post(_ bodies: [[UInt8]], toMock: Bool) async throws -> Double {
        let server = MockServer(EngageMock())
        let collector = Collector()
        try await server.start()
        let transport = DefaultTransport.make()
        func request(_ path: String, _ type: String) -> HTTPRequest {
            HTTPRequest(
                method: .post,
                scheme: "http",
                authority: toMock ? String(server.url.dropFirst(7)) : "127.0.0.1:\(collector.port)",
                path: path,
                headerFields: [.contentType: type, .accept: "application/json", .authorization: "Bearer at-0001"]
            )
        }
        // The mock's first token is always the same.
        let login = "grant_type=refresh_token&client_id=client&client_secret=secret&refresh_token=refresh"
        _ = try await transport.send(
            request("/oauth/token", "application/x-www-form-urlencoded"),
            body: Array(login.utf8),
            limits: HTTPLimits()
        )
        let submission = request("/rest/events/submission", "application/json")
        let rate = try await rate {
            for body in bodies {
                let reply = try await transport.send(submission, body: body, limits: HTTPLimits())
                precondition((200..<300).contains(reply.status))
            }
        }
        await server.stop()
        return rate
    }

    private static func configuration(_ host: String, isAugmented: Bool) throws -> EngageConfiguration {
        var configuration = try EngageConfiguration(
            host: host,
            credentials: .init(clientID: "client", clientSecret: "secret", refreshToken: "refresh"),
            listID: "23949"
        )
        guard isAugmented else { return configuration }
        let places = LocationFeed(configuration.location)
        places.update(.init(latitude: 48.2, longitude: 16.4, accuracy: 5, date: .distantPast))
        configuration.augmentation.plugins = [Weather()] + places.plugins(names: configuration.attributes).prefix(1)
        return configuration
    }

    private static func rate(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return Double(total) / ((ContinuousClock.now - start).nanoseconds / 1e9)
    }

    /// A typical augmentation of an application.
    struct Weather: AugmentationPlugin {
        let isSynchronous = true
        func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
        func process(_ event: AugmentedEvent) -> AugmentedEvent {
            var event = event
            event["Temperature In Celsius"] = "21"
            return event
        }
    }
}
