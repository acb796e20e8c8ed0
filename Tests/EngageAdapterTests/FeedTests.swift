import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("What an application feeds")
struct FeedTests {
    private let bench = EngageWorkbench()

    @Test(
        "a position counts if it is known as exactly as was asked for",
        arguments: [
            (EngageConfiguration.Location.Precision.bestForNavigation, 5_000.0, true), (.best, 5_000, true),
            (.nearestTenMeters, 10, true), (.nearestTenMeters, 11, false), (.hundredMeters, 100, true),
            (.hundredMeters, 101, false), (.kilometer, 1_000, true), (.kilometer, 1_001, false),
            (.threeKilometers, 3_000, true), (.threeKilometers, 3_001, false),
        ]
    )
    func precision(_ precision: EngageConfiguration.Location.Precision, accuracy: Double, counts: Bool) {
        var settings = EngageConfiguration.Location()
        settings.precision = precision
        let feed = LocationFeed(settings)
        #expect(feed.update(.init(latitude: 48, longitude: 16, accuracy: accuracy, date: bench.time.now)) == counts)
        #expect((feed.position(at: bench.time.now) != nil) == counts)
    }

    @Test("a position counts if it is far enough from the last one", arguments: [(10.0, 1), (1_000.0, 1), (5.0, 2)])
    func distance(meters: Double, count: Int) {
        var settings = EngageConfiguration.Location()
        settings.distanceFilter = meters
        let feed = LocationFeed(settings)
        let taken = [48.0, 48.00006].map { latitude in
            // A hundred-thousandth of a degree is a little more than a metre.
            feed.update(.init(latitude: latitude, longitude: 16, accuracy: 1, date: bench.time.now))
        }
        #expect(taken.filter(\.self).count == count)
    }

    @Test("coordinates and places are waited for as long as is configured for each, and not where the feed has them")
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

    @Test("a link's route is logged where the file says so, without the link itself", arguments: [true, false])
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
