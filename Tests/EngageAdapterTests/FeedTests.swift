import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("Feeds from the application")
struct FeedTests {
    private let bench = EngageWorkbench()

    @Test(
        "the requested accuracy is only a hint: no position is left out",
        arguments: EngageConfiguration.Location.Precision.allCases
    )
    func precision(_ precision: EngageConfiguration.Location.Precision) {
        var settings = EngageConfiguration.Location()
        settings.precision = precision
        let feed = LocationFeed(settings)
        let position = LocationFeed.Position(latitude: 48, longitude: 16, accuracy: 5_000, date: bench.time.now)
        #expect(feed.update(position))
        #expect(feed.position(at: bench.time.now) == position)
    }

    @Test("plug-ins use the settings of their own configuration")
    func settings() {
        let feed = LocationFeed()
        var location = EngageConfiguration.Location()
        location.isEnabled = false
        location.distanceFilter = 1_000
        location.acquisitionTimeout = .seconds(3)
        _ = bench.engage { configuration in
            configuration.augmentation.plugins = feed.plugins(names: configuration.attributes)
            configuration.location = location
        }
        #expect(feed.settings == location && !feed.isUsable)
        let places = [48.0, 48.001].map { feed.update(.init(latitude: $0, longitude: 16, date: bench.time.now)) }
        #expect(places == [true, false])
    }

    @Test("an event before a place was known doesn't get one that was found much later")
    func lateFix() async {
        let feed = LocationFeed()
        let event = AugmentedEvent(type: .namedEvent, date: bench.time.now, userID: "u")
        let (soon, late) = (event.date.addingTimeInterval(15), event.date.addingTimeInterval(3_600))
        feed.update(LocationFeed.Position(latitude: 48, longitude: 16, date: late))
        feed.update(LocationFeed.Placemark(name: "Dom", city: "Wien", date: late))
        var readiness: [AugmentationReadiness] = []
        for plugin in feed.plugins(names: .init()) {
            readiness.append(await plugin.readiness(for: event, waited: .zero))
        }
        #expect(readiness == [.never, .never, .never])
        #expect(feed.position(at: event.date) == nil && feed.placemark(at: event.date) == nil)
        #expect(feed.position(at: late) != nil && feed.placemark(at: late) != nil)
        // A position that was awaited counts.
        let other = LocationFeed()
        other.update(LocationFeed.Position(latitude: 48, longitude: 16, date: soon))
        other.update(LocationFeed.Placemark(name: "Dom", city: "Wien", date: soon))
        #expect(other.position(at: event.date) != nil && other.placemark(at: event.date) != nil)
    }

    @Test("a position counts if it is far enough from the last one", arguments: [(10.0, 1), (1_000.0, 1), (5.0, 2)])
    func distance(meters: Double, count: Int) {
        var settings = EngageConfiguration.Location()
        settings.distanceFilter = meters
        let feed = LocationFeed(settings)
        let taken = [48.0, 48.00006].map { latitude in
            // A hundred-thousandth of a degree is a little over a meter.
            feed.update(.init(latitude: latitude, longitude: 16, accuracy: 1, date: bench.time.now))
        }
        #expect(taken.filter(\.self).count == count)
    }

    @Test("coordinates and places are waited for as long as configured for each, and not if the feed has them")
    func patience() async {
        var settings = EngageConfiguration.Location()
        settings.acquisitionTimeout = .seconds(3)
        settings.placemarkTimeout = .seconds(5)
        let feed = LocationFeed(settings)
        let event = AugmentedEvent(type: .namedEvent, date: bench.time.now, userID: "u")
        func readiness(after seconds: Int) async -> [AugmentationReadiness] {
            var all: [AugmentationReadiness] = []
            for plugin in feed.plugins(names: .init()) {
                all.append(await plugin.readiness(for: event, waited: .seconds(seconds)))
            }
            return all
        }
        #expect(await readiness(after: 2) == [.notYet, .notYet, .notYet])
        #expect(await readiness(after: 3) == [.never, .notYet, .notYet])
        #expect(await readiness(after: 5) == [.never, .never, .never])
        feed.update(LocationFeed.Position(latitude: 48, longitude: 16, accuracy: 1, date: bench.time.now))
        feed.update(LocationFeed.Placemark(name: "Dom", date: bench.time.now))
        #expect(await readiness(after: 0) == [.ready, .ready, .ready])
    }

    @Test(
        "an event waits for a place as long as a place can apply to it, whenever the delivery begins",
        arguments: [(0, 14, true), (0, 15, false), (10, 4, true), (10, 5, false), (86_400, 0, false)]
    )
    func oldEvent(age: Int, waited: Int, isAwaited: Bool) async {
        var event = AugmentedEvent(type: .namedEvent, date: bench.time.now, userID: "u")
        event.age = .seconds(age)
        for plugin in LocationFeed().plugins(names: .init()) {
            let readiness = await plugin.readiness(for: event, waited: .seconds(waited))
            #expect(readiness == (isAwaited ? .notYet : .never))
        }
    }

    @Test("an event of yesterday is posted at once, without a place", .timeLimit(.minutes(1)))
    func yesterday() async throws {
        let feed = LocationFeed()
        let engage = bench.engage { $0.augmentation.plugins = feed.plugins(names: $0.attributes) }
        let client = try await bench.client(engage)
        await client.setConnectivity(.offline)
        try await client.session(for: User(id: "u")).track(.custom("A"))
        bench.time.advance(by: .seconds(86_400))
        let begun = bench.time.instant
        await client.setConnectivity(.online)
        try await client.flush()
        #expect(bench.time.instant == begun)
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["A"])
    }

    @Test("a link's route is logged if the file says so, without the link itself", arguments: [true, false])
    func linksAreLogged(logs: Bool) async throws {
        let log = RecordingLog()
        let client = try await ExperimentationClient(
            provider: EngageProvider(configuration: EngageWorkbench.configuration(), transport: Wire(bench: bench)),
            environment: ClientEnvironment(time: bench.time, log: log)
        )
        let engage = try Engage(of: client)
        let routes = try DeepLinkRoutes(
            json: Array(#"{"logging":"\#(logs)","routes":{"test/:id":{"handlers":["postSilverpop"]}}}"#.utf8),
            file: "links.json"
        )
        let tracker = engage.tracker(for: client.session(for: User(id: "u")))
        try await tracker.handleExternalURLOpened("App://test/personal", routes: routes)
        let messages = log.entries.filter { $0.event == "engage.link" }.map(\.message)
        #expect(messages == (logs ? ["a link went by test/:id"] : []))
        await client.setConnectivity(.offline)
        await client.shutdown(within: .zero)
    }
}
