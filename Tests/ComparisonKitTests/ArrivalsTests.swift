import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@testable import ComparisonKit

@Suite("Repeated and lost")
struct ArrivalsTests {
    private static func click(_ number: Int, value: Double? = nil) -> Received {
        Received(
            type: "custom",
            userID: "ada",
            name: "clicked",
            value: value,
            date: Date(timeIntervalSince1970: Double(number) / 1000)
        )
    }

    private static let all = Set(Received.Field.allCases)

    @Test("a hundred repetitions don't hide a hundred losses")
    func hidden() {
        let delivered = (0..<300).map { Self.click($0) }
        let received = (0..<200).map { Self.click($0) } + (0..<100).map { Self.click($0) }
        let arrivals = Arrivals(delivered: delivered, received: received, fields: Self.all, isDisturbed: true)
        #expect(arrivals.repeated == 100)
        #expect(arrivals.lost == 100)
        #expect(arrivals.received == ["custom": 200])
    }

    @Test("identical events can't be counted separately once something went wrong")
    func untold() {
        let twins = [Self.click(1), Self.click(2)]
        let disturbed = Arrivals(delivered: twins, received: twins, fields: [.name], isDisturbed: true)
        #expect(disturbed.repeated == nil && disturbed.lost == nil)
        let calm = Arrivals(delivered: twins, received: twins, fields: [.name], isDisturbed: false)
        #expect(calm.repeated == 0 && calm.lost == 0)
    }

    @Test("a wire with ages instead of dates loses no precision")
    func aged() {
        let sent = [Self.click(1, value: 1), Self.click(2, value: 2)]
        let told = sent.map { event in
            var event = event
            event.date = nil
            event.age = 3
            return event
        }
        let arrivals = Arrivals(delivered: sent, received: told + [told[0]], fields: Self.all, isDisturbed: true)
        #expect(arrivals.repeated == 1)
        #expect(arrivals.lost == 0)
    }

    @Test(
        "an event that the vendor receives in another form is neither lost nor repeated; its second arrival is a repetition"
    )
    func toldOtherwise() {
        let sent = [Self.click(1, value: 3), Self.click(2, value: 4)]
        let told = [Self.click(1, value: 30), Self.click(2, value: 40)]
        let once = Arrivals(delivered: sent, received: told, fields: Self.all, isDisturbed: true)
        #expect(once.repeated == 0 && once.lost == 0)
        let again = Arrivals(delivered: sent, received: told + [told[0]], fields: Self.all, isDisturbed: true)
        #expect(again.repeated == 1 && again.lost == 0)
        let one = Arrivals(delivered: sent, received: [told[0]], fields: Self.all, isDisturbed: true)
        #expect(one.repeated == 0 && one.lost == 1)
    }

    @Test("an event that the vendor receives as another type is neither lost nor repeated, nor are equal events")
    func otherType() {
        let goals = Array(repeating: Received(type: "goalCompleted", userID: "ada", name: "signup"), count: 1_000)
        let told = Array(repeating: Received(type: "custom", userID: "ada", name: "signup"), count: 1_000)
        let all = Arrivals(delivered: goals, received: told, fields: [.name], isDisturbed: false)
        #expect(all.repeated == 0 && all.lost == 0 && all.received == ["custom": 1_000])
        let more = Arrivals(delivered: goals, received: told + told.prefix(2), fields: [.name], isDisturbed: false)
        #expect(more.repeated == 2 && more.lost == 0 && more.received == ["custom": 1_000])
        let fewer = Arrivals(delivered: goals, received: Array(told.dropLast(3)), fields: [.name], isDisturbed: false)
        #expect(fewer.repeated == 0 && fewer.lost == 3)
    }

    @Test("an arrival is matched with an event of its own type first; denials are matched only with denials")
    func typesFirst() {
        let sent = [Self.click(1, value: 3), Received(type: "purchase", userID: "ada", orderID: "o-1")]
        let told = [Self.click(1, value: 30), Received(type: "custom", userID: "ada", orderID: "o-1")]
        for received in [told, told.reversed()] {
            let both = Arrivals(delivered: sent, received: received, fields: Self.all, isDisturbed: true)
            #expect(both.repeated == 0 && both.lost == 0)
        }
        let again = Arrivals(delivered: sent, received: [told[0], told[0]], fields: Self.all, isDisturbed: true)
        #expect(again.repeated == 1 && again.lost == 1)
        let denial = Received(type: "consentChanged", userID: "ada", isGranted: false)
        let denied = Arrivals(delivered: sent, received: [told[0], denial], fields: Self.all, isDisturbed: true)
        #expect(denied.repeated == 0 && denied.lost == 1)
        let stray = Arrivals(delivered: [denial], received: [told[1]], fields: Self.all, isDisturbed: true)
        #expect(stray.repeated == 0 && stray.lost == 1)
    }

    @Test(
        "equal events of every type are neither lost nor repeated where nothing went wrong",
        arguments: [FlagshipSubject(), EngageSubject(), EvergageSubject(), InMemorySubject()]
            as [any ConformanceSubject]
    )
    func everyType(subject: any ConformanceSubject) async throws {
        let tracked = TrackingEvent.examples.map { Scenario.Step(nil, .track([$0], times: 4)) }
        let scenario = Scenario(
            name: "every-type",
            title: "Every type",
            world: .shop,
            steps: [.init(nil, .arrive(userID: "ada")), .init(nil, .refresh)] + tracked + [.init(nil, .flush)]
        )
        let story = try #require(await ComparisonRunner().run(scenario, with: [subject]).vendors.first)
        #expect(story.failure == nil && story.ledger.delivered > 4 && story.ledger.pending == 0)
        #expect(story.repeated == 0 && story.lost == 0, "\(story.ledger) \(story.received)")
    }

    @Test("events that no application tracked, such as identities, aren't counted as tracked")
    func signs() {
        let signs = [Received(type: "identity", userID: "ada"), Received(type: "identity", userID: "ada")]
        let arrivals = Arrivals(delivered: [], received: signs, fields: Self.all, isDisturbed: true)
        #expect(arrivals.repeated == 0 && arrivals.lost == 0)
        #expect(arrivals.received == ["identity": 2])
    }

    @Test("the fields of an event that arrive are listed one by one")
    func fidelity() {
        let sent = Received(
            type: "purchase",
            userID: "ada",
            value: 64.9,
            attributes: ["colour": "red"],
            orderID: "o-1",
            items: ["a", "b"]
        )
        var arrived = sent
        arrived.type = "custom"
        arrived.value = 6490
        arrived.attributes = [:]
        let fidelity = EventFidelity(sent, arrived: [arrived])
        #expect(
            fidelity
                == EventFidelity(
                    type: "purchase",
                    arrivedAs: "custom",
                    fields: ["userID": .kept, "value": .changed, "attributes": .lost, "orderID": .kept, "items": .kept]
                )
        )
        #expect(
            fidelity.sentence(without: ["userID"])
                == "arrives as custom; keeps items, orderID; changes value; loses attributes"
        )
        #expect(EventFidelity(sent, arrived: []).sentence() == "nothing arrives")
        #expect(EventFidelity(type: "share", refusal: "no word").sentence() == "refused: no word")
    }

    @Test(
        "a date is kept if it is from the time in which the event was tracked, however long that took",
        arguments: [
            (0.0, EventFidelity.Fate.kept), (8, .kept), (9.5, .kept), (-0.5, .kept), (-2, .changed), (12, .changed),
        ]
    )
    func date(offset: Double, fate: EventFidelity.Fate) {
        let begin = Date(timeIntervalSince1970: 1_790_000_000)
        let sent = Received(type: "custom", date: begin)
        let arrived = Received(type: "custom", date: begin + offset)
        #expect(EventFidelity(sent, arrived: [arrived], trackedBy: begin + 9).fields["date"] == fate)
    }
}
