import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import EngageAdapter

@Suite("Events are augmented by plug-ins")
struct AugmentationTests {
    let time = ManualTime()

    /// Becomes ready after a while, then adds its name.
    struct Slow: AugmentationPlugin {
        let name: String
        let isSynchronous: Bool
        let after: Duration
        var order: Order?

        func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
            waited >= after ? .ready : .notYet
        }
        func process(_ event: AugmentedEvent) -> AugmentedEvent {
            order?.names.withLock { $0.append(name) }
            var event = event
            event[name] = "yes"
            return event
        }
    }

    final class Order: Sendable { let names = Mutex<[String]>([]) }
    final class Hanging: AugmentationPlugin {
        let isSynchronous = true
        private let state = Mutex(false)
        /// Whether the endless work has begun.
        var isReached: Bool { state.withLock { $0 } }
        func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
        func process(_ event: AugmentedEvent) async throws -> AugmentedEvent {
            state.withLock { $0 = true }
            // Never returns, even if its task is cancelled.
            await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in }
            return event
        }
    }
    struct Failing: AugmentationPlugin {
        let isSynchronous = true
        func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
        func process(_ event: AugmentedEvent) throws -> AugmentedEvent { throw CancellationError() }
    }

    /// Completes an event, advancing time while the run waits for a plug-in to become ready.
    ///
    /// - Parameters:
    ///   - plugins: The plug-ins.
    ///   - hanging: One of them that never returns; only the time-out sleeps then.
    /// - Returns: The event's outcome.
    /// - Throws: An error if it doesn't end.
    private func complete(
        _ plugins: [any AugmentationPlugin],
        hanging: Hanging? = nil
    ) async throws -> AugmentationRun.Outcome {
        let run = AugmentationRun(plugins: plugins, timeout: .seconds(15), time: time)
        let event = AugmentedEvent(type: .namedEvent, date: time.now, userID: "u", attributes: ["a": "1"])
        let done = Mutex<AugmentationRun.Outcome?>(nil)
        let work = Task { await run.complete(event) }
        let watcher = Task {
            let outcome = await work.value
            done.withLock { $0 = outcome }
        }
        let begun = time.instant
        while done.withLock({ $0 == nil }), begun.duration(to: time.instant) < .seconds(20) {
            for _ in 0..<20 { await Task.yield() }
            // The time-out sleeps from the start; the run is the second sleeper.
            if time.sleepers > 1 || hanging?.isReached == true { time.advance(by: .milliseconds(100)) }
        }
        await watcher.value
        return try #require(done.withLock { $0 })
    }

    @Test("E65 a synchronous plug-in delays the one after it")
    func synchronous() async throws {
        let order = Order()
        let outcome = try await complete([
            Slow(name: "A", isSynchronous: true, after: .seconds(1), order: order),
            Slow(name: "B", isSynchronous: true, after: .zero, order: order),
        ])
        #expect(order.names.withLock { $0 } == ["A", "B"])
        #expect(!outcome.isExpired && outcome.event["A"] == "yes" && outcome.event["B"] == "yes")
    }

    @Test("an asynchronous plug-in delays none")
    func asynchronous() async throws {
        let order = Order()
        let outcome = try await complete([
            Slow(name: "A", isSynchronous: false, after: .seconds(1), order: order),
            Slow(name: "B", isSynchronous: true, after: .zero, order: order),
        ])
        #expect(order.names.withLock { $0 } == ["B", "A"])
        #expect(!outcome.isExpired)
    }

    @Test("E66 a plug-in that is never ready ends with the time-out, and the others' additions stay")
    func neverReady() async throws {
        let begun = time.instant
        let outcome = try await complete([
            Slow(name: "A", isSynchronous: false, after: .seconds(1000)),
            Slow(name: "B", isSynchronous: true, after: .zero),
        ])
        #expect(outcome.isExpired && outcome.event["B"] == "yes" && outcome.event["A"] == nil)
        let waited = begun.duration(to: time.instant)
        #expect(waited >= .seconds(15) && waited < .seconds(17))
    }

    @Test("a plug-in that never returns ends with the time-out as well")
    func hanging() async throws {
        let hanging = Hanging()
        let slow = Slow(name: "B", isSynchronous: true, after: .zero)
        let outcome = try await complete([slow, hanging], hanging: hanging)
        #expect(outcome.isExpired && outcome.event["B"] == "yes")
    }

    @Test("a plug-in that throws leaves the event unchanged")
    func failing() async throws {
        let outcome = try await complete([Failing(), Slow(name: "B", isSynchronous: true, after: .zero)])
        #expect(outcome.event.attributes == ["a": "1", "B": "yes"] && !outcome.isExpired)
    }

    @Test("a plug-in sees the event's name or goal and the core attributes, and may change them")
    func seesAll() async throws {
        struct Renaming: AugmentationPlugin {
            let isSynchronous = true
            func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
            func process(_ event: AugmentedEvent) -> AugmentedEvent {
                var event = event
                let names = ["Event Name", "Goal Name", "Device Id", "Primary User Id", "Campaign Name"]
                event["Seen"] = names.map { event[$0] ?? "-" }.joined(separator: "|")
                if event["Event Name"] == "old" { event["Event Name"] = "new" }
                return event
            }
        }
        let bench = EngageWorkbench()
        let engage = bench.engage { $0.augmentation.plugins = [Renaming()] }
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "u"))
        try await session.track(.custom("old"))
        try await session.track(.goalCompleted("done"))
        try await client.flush()
        let behaviors = try await bench.behaviors()
        #expect(behaviors.map { $0["Seen"] } == ["old|-|DEVICE-1|u|", "-|done|DEVICE-1|u|"])
        #expect(behaviors.map { $0["Event Name"] } == ["new", nil])
    }

    @Test("a denial of consent removes plug-ins' results for that user's events only")
    func denied() async throws {
        struct Adding: AugmentationPlugin {
            let isSynchronous = true
            func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
            func process(_ event: AugmentedEvent) -> AugmentedEvent {
                var event = event
                event["Added"] = "yes"
                return event
            }
        }
        let bench = EngageWorkbench()
        let engage = bench.engage { $0.augmentation.plugins = [Adding()] }
        let client = try await bench.client(engage)
        var ids: [String] = []
        var sessions: [UserSession] = []
        bench.plan(.status(503), on: "events", times: 9)
        for user in ["ann", "ben"] {
            sessions.append(client.session(for: User(id: user)))
            ids.append(try await sessions[sessions.count - 1].trackWithID(.custom("A")))
        }
        try await client.flush(retrying: false)
        #expect(ids.map { engage.completed[$0]?["Added"] } == ["yes", "yes"])
        try await sessions[0].setConsent(.denied)
        #expect(ids.map { engage.completed[$0]?["Added"] } == [nil, "yes"])
    }

    @Test("an event's recipient is determined at each attempt, not kept from a failed one")
    func recipientFoundLater() async throws {
        struct Nothing: AugmentationPlugin {
            let isSynchronous = true
            func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
            func process(_ event: AugmentedEvent) -> AugmentedEvent { event }
        }
        let bench = EngageWorkbench()
        let engage = bench.engage { $0.augmentation.plugins = [Nothing()] }
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID("own")
        bench.plan(.status(503), on: "events")
        try await client.session(for: User(id: "own")).track(.custom("A"))
        try await client.flush(retrying: false)
        let setup = try await engage.mobileIdentity.setupRecipient()
        bench.time.advance(by: .seconds(600))
        try await client.flush()
        #expect(try await bench.behaviors().map { $0["Recipient Id"] } == [setup.recipientID])
    }

    @Test(
        "E67 an event without a plug-in's result is posted and counted once; E68 after a restart it is completed again"
    )
    func expired() async throws {
        let bench = EngageWorkbench()
        let slow = Slow(name: "A", isSynchronous: true, after: .seconds(1000))
        let engage = bench.engage { $0.augmentation.plugins = [slow] }
        let client = try await bench.client(engage)
        bench.plan(.status(503), on: "events", times: 50)
        try await client.session(for: User(id: "u")).track(.custom("x"))
        func flush(_ client: ExperimentationClient) async throws {
            let flushing = Task { try await client.flush(within: .seconds(3600), retrying: false) }
            let done = Mutex(false)
            let watcher = Task {
                _ = try? await flushing.value
                done.withLock { $0 = true }
            }
            try await eventually("the flush ends") {
                for _ in 0..<20 { await Task.yield() }
                if bench.time.sleepers > 1 { bench.time.advance(by: .milliseconds(100)) }
                return done.withLock { $0 }
            }
            await watcher.value
        }
        try await flush(client)
        #expect(try await engage.eventStates(in: client).incomplete == 1)
        #expect(try await client.ledger().pending == 1)

        let quick = Slow(name: "A", isSynchronous: true, after: .zero)
        // The first run must have ended, so that it doesn't deliver at the same time.
        await client.setConnectivity(.offline)
        await client.shutdown(within: .seconds(1))
        bench.forgetPlans()
        bench.time.advance(by: .seconds(3600))
        let next = try await bench.client(bench.engage { $0.augmentation.plugins = [quick] })
        try await flush(next)
        let completed = try await bench.behaviors().map { $0["A"] }
        #expect(completed == ["yes"])
        #expect(try await next.ledger().delivered == 1)
    }

    @Test("E69 without permission, or with places turned off, nothing waits", arguments: [true, false])
    func noPermission(isEnabled: Bool) async throws {
        var settings = EngageConfiguration.Location()
        settings.isEnabled = isEnabled
        let feed = LocationFeed(settings)
        if isEnabled { feed.setAllowed(false) }
        let begun = time.instant
        let run = AugmentationRun(plugins: feed.plugins(names: .init()), timeout: .seconds(15), time: time)
        let event = AugmentedEvent(type: .namedEvent, date: time.now, userID: "u", attributes: ["a": "1"])
        #expect(await run.complete(event) == AugmentationRun.Outcome(event: event, isExpired: false))
        #expect(time.instant == begun)
    }

    @Test("E70 a place set by the application stays; the rest is added as of the event's time")
    func places() async throws {
        let feed = LocationFeed()
        let then = time.now
        #expect(feed.update(.init(latitude: 48.20849, longitude: -16.37208, accuracy: 5, date: then)))
        #expect(!feed.update(.init(latitude: 48.20850, longitude: -16.37208, accuracy: 5, date: then)))
        #expect(!feed.update(.init(latitude: .nan, longitude: 0, date: then)))
        feed.update(
            .init(
                name: "Dom",
                city: "Wien",
                state: "W",
                postalCode: "1010",
                country: "Austria",
                countryCode: "AT",
                date: then
            )
        )
        feed.update(.init(latitude: 1, longitude: 1, date: then.addingTimeInterval(60)))
        let plugins = feed.plugins(names: .init())
        let run = AugmentationRun(plugins: plugins, timeout: .seconds(15), time: time)
        let event = AugmentedEvent(type: .namedEvent, date: then, userID: "u", attributes: ["Location Name": "Mine"])
        let outcome = await run.complete(event)
        #expect(
            outcome?.event.attributes == [
                "Location Name": "Mine", "Latitude": "48.20849", "Longitude": "-16.37208",
                "Location Address": "Wien, W 1010, Austria (AT)",
            ]
        )
        let other = await run.complete(AugmentedEvent(type: .namedEvent, date: then, userID: "u"))
        #expect(other?.event["Location Name"] == "Dom")
    }

    @Test("a place is valid for its time, and isn't waited for longer than that")
    func placeLife() {
        let feed = LocationFeed()
        feed.update(LocationFeed.Placemark(name: "Dom", date: time.now))
        #expect(feed.placemark(at: time.now.addingTimeInterval(3600)) != nil)
        #expect(feed.placemark(at: time.now.addingTimeInterval(3601)) == nil)
        let plugin = PlacePlugin(part: .address, feed: feed, names: .init())
        let event = AugmentedEvent(type: .namedEvent, date: time.now.addingTimeInterval(4000), userID: "u")
        #expect(plugin.readiness(for: event, waited: .seconds(14)) == .notYet)
        #expect(plugin.readiness(for: event, waited: .seconds(15)) == .never)
    }

    @Test(
        "coordinates have ten digits at most, rounded away from zero",
        arguments: [
            (0.0, "0"), (48.5, "48.5"), (-0.1, "-0.1"), (1.000000000049, "1.0000000001"), (-16.37208, "-16.37208"),
            (179.99999999991, "180"), (151.2093, "151.2093"), (164.491, "164.491"), (-164.491, "-164.491"),
            (180, "180"), (0.00001, "0.00001"), (-0.00000000001, "-0.0000000001"),
        ]
    )
    func coordinates(degrees: Double, text: String) { #expect(PlacePlugin.text(degrees) == text) }

    @Test("the last known place is written to its two columns, which are added once")
    func lastKnown() async throws {
        let bench = EngageWorkbench()
        let engage = bench.engage()
        let setup = try await engage.mobileIdentity.setupRecipient()
        try await engage.updateLastKnownLocation(.init(city: "Wien", country: "Austria", date: bench.time.now))
        try await engage.updateLastKnownLocation(nil)
        #expect(
            bench.operations == [
                "token", "AddRecipient", "AddListColumn", "AddListColumn", "UpdateRecipient", "UpdateRecipient",
            ]
        )
        let values = try await bench.recipient(setup.recipientID)
        #expect(values["Last Location Address"] == "UNKNOWN" && values["Last Location Address Time"] == "2015-02-03")
    }

    @Test(
        "the last known place is written to the configured columns in the configured form; missing columns are added later"
    )
    func lastKnownConfigured() async throws {
        let bench = EngageWorkbench()
        let engage = bench.engage {
            $0.location.addressColumn = "Where"
            $0.location.timestampColumn = "When"
            $0.location.dateFormat = "MM'-'dd'-'yyyy"
        }
        let setup = try await engage.mobileIdentity.setupRecipient()
        let place = LocationFeed.Placemark(city: "Wien", country: "Austria", date: bench.time.now)
        await bench.fault(50, on: "AddListColumn", times: 2)
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.updateLastKnownLocation(place)
        }
        #expect((error?.cause as? XMLAPIFault)?.code == 161)
        try await engage.updateLastKnownLocation(place)
        let values = try await bench.recipient(setup.recipientID)
        #expect(values["Where"] == "Wien, Austria" && values["When"] == "02-03-2015")
    }
}

extension AugmentationRun {
    /// Completes one behavior; `nil` if the task was cancelled.
    fileprivate func complete(_ event: AugmentedEvent) async -> Outcome? { await complete([event]).first ?? nil }
}
