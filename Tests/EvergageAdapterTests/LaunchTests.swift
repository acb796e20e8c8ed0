import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Launches")
@MainActor
struct LaunchTests {
    @Test("the first events of a launch belong to the user at the start, with the attributes known then")
    func launchOfNamedUser() async throws {
        let app = try await App(lifecycle: true, start: false)
        app.evergage.globalContext?.trackAction("Before")
        app.evergage.userID = "u-1"
        app.evergage.accountID = "acme"
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.start(.test)
        app.evergage.userID = "u-2"
        app.evergage.globalContext?.trackAction("After")
        await app.settle()
        #expect(app.actions == ["Before", "App Install", "App Launch", "After"])
        #expect(app.transport.events.map { $0["user"]?["id"]?.stringValue } == [nil, "u-1", "u-1", "u-2"])
        #expect(app.transport.events.map { $0["account"]?["id"]?.stringValue } == [nil, "acme", "acme", "acme"])
        let tiers = app.transport.events.map { $0["user"]?["attributes"]?["tier"]?.stringValue }
        #expect(tiers == [nil, "gold", nil, nil])
    }

    @Test("a failed start leaves its launch, with its attributes, to the next one")
    func failedLaunch() async throws {
        let app = try await App(lifecycle: true, start: false, store: BrokenStore.clientStore(failures: 1))
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.start(.test)
        app.evergage.setUserAttribute("silver", forName: "tier")
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.actions == [])
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["App Install", "App Launch", "A"])
        let tiers = app.transport.events.map { $0["user"]?["attributes"]?["tier"]?.stringValue }
        #expect(tiers == ["gold", nil, "silver"])
    }

    @Test("at most one of install and upgrade, then launch, and changes between background and foreground, are tracked")
    func lifecycle() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(lifecycle: true, version: "1", store: store)
        first.evergage.setApplicationState(.background)
        first.evergage.setApplicationState(.foreground)
        await first.settle()
        #expect(first.actions == ["App Install", "App Launch", "App Background", "App Foreground"])
        let second = try await App(lifecycle: true, version: "1", store: store)
        #expect(second.actions == ["App Launch"])
        let third = try await App(lifecycle: true, version: "2", store: store)
        #expect(third.actions == ["App Upgrade", "App Launch"])
    }

    @Test("an upgrade is told from the latest known version; an unknown one says nothing")
    func unknownVersions() async throws {
        let store = ClientStore.inMemory()
        let launches: [(version: String?, actions: [String])] = [
            (nil, ["App Install", "App Launch"]), ("1", ["App Launch"]), (nil, ["App Launch"]),
            ("1", ["App Launch"]), (nil, ["App Launch"]), ("2", ["App Upgrade", "App Launch"]),
            ("2", ["App Launch"]),
        ]
        for launch in launches {
            let app = try await App(lifecycle: true, version: launch.version, store: store)
            #expect(app.actions == launch.actions)
        }
    }

    @Test("a process launches once, whatever is reset and started again in it")
    func oneLaunch() async throws {
        let app = try await App(lifecycle: true, start: false)
        // Nothing was tracked yet when this start ended.
        app.evergage.start(.test)
        app.evergage.reset()
        for configuration in [EvergageConfiguration.test, .test, App.second] {
            app.evergage.start(configuration)
            try app.global.trackAction("A")
            await app.settle()
            app.evergage.reset()
            await app.settle()
        }
        #expect(app.actions == ["App Install", "App Launch", "A", "A", "A"])
    }

    @Test("an install that the store didn't take is tracked by the next start")
    func installNotStored() async throws {
        let state = InMemoryStateStore()
        let first = try await App(lifecycle: true, start: false, store: ClientStore(outbox: FullOutbox(), state: state))
        first.evergage.start(.test)
        try await eventually("the failure is logged") { !first.complaints(.error).isEmpty }
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let second = try await App(lifecycle: true, store: store)
        #expect(second.actions == ["App Install", "App Launch"])
        let third = try await App(lifecycle: true, store: store)
        #expect(third.actions == ["App Launch"])
    }

    @Test("an install that the store didn't take is tracked by the next start in the same process, after a reset")
    func installNotStoredBeforeReset() async throws {
        let outbox = FullOutbox()
        let store = ClientStore(outbox: outbox, state: InMemoryStateStore())
        let first = try await App(lifecycle: true, start: false, store: store)
        first.evergage.start(.test)
        try await eventually("the failure is logged") { !first.complaints(.error).isEmpty }
        first.evergage.reset()
        outbox.makeRoom()
        first.evergage.start(.test)
        await first.settle()
        #expect(first.actions == ["App Install", "App Launch"])
        let second = try await App(lifecycle: true, store: store)
        #expect(second.actions == ["App Launch"])
    }

    @Test("an install that the store takes later isn't tracked again, neither after a reset nor by the next launch")
    func installStoredLater() async throws {
        let outbox = FullOutbox()
        let store = ClientStore(outbox: outbox, state: InMemoryStateStore())
        let first = try await App(lifecycle: true, start: false, store: store)
        first.evergage.start(.test)
        try await eventually("the failure is logged") { !first.complaints(.error).isEmpty }
        outbox.makeRoom()
        await first.settle()
        first.evergage.reset()
        first.evergage.start(.test)
        await first.settle()
        #expect(first.actions == ["App Install", "App Launch"])
        let second = try await App(lifecycle: true, store: store)
        #expect(second.actions == ["App Launch"])
    }

    @Test("an install during a denial is tracked by the first launch after the denial")
    func installDuringDenial() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(lifecycle: true, start: false, store: store)
        first.evergage.setConsent(.denied)
        first.evergage.start(.test)
        await first.settle()
        first.evergage.setConsent(.granted)
        await first.settle()
        let second = try await App(lifecycle: true, store: store)
        let third = try await App(lifecycle: true, store: store)
        #expect([first, second, third].map(\.actions) == [[], ["App Install", "App Launch"], ["App Launch"]])
    }

    @Test("an install that a denial removed before the store had it is tracked by the next launch")
    func installRemovedByDenial() async throws {
        let outbox = FullOutbox()
        let store = ClientStore(outbox: outbox, state: InMemoryStateStore())
        let first = try await App(lifecycle: true, start: false, store: store)
        first.evergage.start(.test)
        try await eventually("the failure is logged") { !first.complaints(.error).isEmpty }
        first.evergage.setConsent(.denied)
        outbox.makeRoom()
        await first.settle()
        first.evergage.setConsent(.granted)
        await first.settle()
        let second = try await App(lifecycle: true, store: store)
        #expect([first, second].map(\.actions) == [[], ["App Install", "App Launch"]])
    }

    @Test("an install without lifecycle events is never tracked")
    func unwantedInstall() async throws {
        let store = ClientStore.inMemory()
        _ = try await App(store: store)
        let second = try await App(lifecycle: true, store: store)
        #expect(second.actions == ["App Launch"])
    }

    @Test("a version counts as reported only by the instance that tracked its launch")
    func installOfAnother() async throws {
        let state = InMemoryStateStore()
        let first = try await App(lifecycle: true, start: false, store: ClientStore(outbox: FullOutbox(), state: state))
        first.evergage.start(.test)
        try await eventually("the failure is logged") { !first.complaints(.error).isEmpty }
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let second = try await App(lifecycle: true, start: false, store: store)
        second.evergage.process = first.evergage.process
        second.evergage.start(.test)
        await second.settle()
        #expect(second.actions == [])
        let third = try await App(lifecycle: true, store: store)
        #expect(third.actions == ["App Install", "App Launch"])
    }

    @Test(
        "one of two instances that start together tracks the launch; the other's attributes go with its next event",
        arguments: [true, false]
    )
    func startedTogether(isNextWaiting: Bool) async throws {
        let apps = [try await App(lifecycle: true, start: false), try await App(lifecycle: true, start: false)]
        apps[1].evergage.process = apps[0].evergage.process
        for app in apps {
            for name in ["tier", "plan"] { app.evergage.setUserAttribute("old", forName: name) }
            app.evergage.setAccountAttribute("9", forName: "size")
            app.evergage.start(.test)
            app.evergage.setUserAttribute("new", forName: "plan")
            // Statistics carry no attributes.
            try app.global.trackImpression(StatTests.campaign())
            if isNextWaiting { try app.global.trackAction("A") }
        }
        for app in apps { await app.settle() }
        if !isNextWaiting {
            for app in apps {
                try app.global.trackAction("A")
                await app.settle()
            }
        }
        let (one, other) = apps[0].actions.count > 2 ? (apps[0], apps[1]) : (apps[1], apps[0])
        #expect(one.actions == ["App Install", "App Launch", "-", "A"])
        #expect(other.actions == ["-", "A"])
        let attributes = other.transport.events.last
        #expect(attributes?["user"]?["attributes"] == ["tier": "old", "plan": "new"])
        #expect(attributes?["account"]?["attributes"] == ["size": "9"])
        #expect(one.transport.events.map { $0["user"]?["attributes"] == nil } == [false, true, true, false])
    }

    @Test("attributes of a launch that isn't tracked don't go with another named user's events")
    func attributesOfAnother() async throws {
        let app = try await App(lifecycle: true, start: false)
        app.evergage.userID = "u-1"
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.setAccountAttribute("9", forName: "size")
        app.evergage.start(.test)
        app.evergage.process.launches.insert("acme")
        app.evergage.userID = "u-2"
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.actions == ["A"])
        #expect(app.transport.events.first?["user"] == ["id": "u-2", "anonId": "anon-1"])
        #expect(app.transport.events.first?["account"] == ["attributes": ["size": "9"]])
    }

    @Test("V01 calls during starts that fail count as before the start, beside the launch")
    func failedStarts() async throws {
        let app = try await App(lifecycle: true, start: false, store: BrokenStore.clientStore(failures: 2))
        for numbers in [1...80, 81...160] {
            app.evergage.start(.test)
            for number in numbers { try app.global.trackAction("\(number)") }
            await app.settle()
        }
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["App Install", "App Launch"] + (61...160).map(\.description))
        #expect(app.complaints(.warning) == ["more than 100 calls wait for the start; the oldest 60 were dropped"])
    }
}

/// A store that accepts no event until there is room.
private final class FullOutbox: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    private let isFull = Mutex(true)

    func makeRoom() { isFull.withLock { $0 = false } }

    func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        if isFull.withLock({ $0 }) { throw ExperimentationError(.store, "the disk is full") }
        return try await base.append(events, now: now)
    }
}

/// A store whose first reads fail.
private final class BrokenStore: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    private let left: Mutex<Int>
    init(failures: Int) { left = Mutex(failures) }

    static func clientStore(failures: Int) -> ClientStore {
        ClientStore(outbox: InMemoryOutboxStore(), state: BrokenStore(failures: failures))
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        let fails = left.withLock { left in
            left -= 1
            return left >= 0
        }
        if fails { throw ExperimentationError(.store, "can't be read") }
        return try await baseState.value(for: key)
    }
}
