import Testing

@testable import Experimentation

@Suite("The campaign board")
struct CampaignBoardTests {
    static let ignore: CampaignHandler = { _ in }

    static func campaign(_ id: String, target: String = "hero") -> Campaign {
        Campaign(id: id, target: target, experience: Variation(id: "x-\(id)"))
    }

    func ids(_ due: [CampaignBoard.Delivery]) -> [String] { due.map(\.campaign.id) }

    @Test(
        "a campaign with a handler on a deliverable surface is due at once, each of one answer in its order"
    )
    func due() {
        var board = CampaignBoard()
        #expect(ids(board.setHandler(Self.ignore, target: "hero", surface: "home")) == [])
        let epoch = board.epoch(of: "home")
        let due = board.receive(
            [Self.campaign("a"), Self.campaign("b")],
            surface: "home",
            epoch: epoch
        )
        #expect(ids(due) == ["a", "b"])
        #expect(board.held(surface: "home") == [])
    }

    @Test(
        "without a handler the newest up to the limit are held and handed out once, in the order of receipt"
    )
    func held() {
        var board = CampaignBoard()
        let epoch = board.epoch(of: "home")
        #expect(ids(board.receive([Self.campaign("a")], surface: "home", epoch: epoch)) == [])
        #expect(ids(board.receive([Self.campaign("b")], surface: "home", epoch: epoch)) == [])
        #expect(board.held(surface: "home").map(\.id) == ["b"])
        #expect(ids(board.setHandler(Self.ignore, target: "hero", surface: "home")) == ["b"])
        #expect(ids(board.setHandler(Self.ignore, target: "hero", surface: "home")) == [])

        var roomy = CampaignBoard(limitPerTarget: 2)
        let roomyEpoch = roomy.epoch(of: nil)
        for id in ["a", "b", "c"] {
            _ = roomy.receive([Self.campaign(id)], surface: nil, epoch: roomyEpoch)
        }
        #expect(roomy.held(surface: nil).map(\.id) == ["b", "c"])

        var none = CampaignBoard(limitPerTarget: 0)
        _ = none.receive([Self.campaign("a")], surface: nil, epoch: none.epoch(of: nil))
        #expect(none.held(surface: nil) == [])
    }

    @Test(
        "undeliverable campaigns are held; targets are served in the order of receipt, not of their names"
    )
    func deliverable() {
        var board = CampaignBoard()
        _ = board.setDeliverable(false, surface: "home")
        _ = board.setHandler(Self.ignore, target: "a", surface: "home")
        _ = board.setHandler(Self.ignore, target: "z", surface: "home")
        let epoch = board.epoch(of: "home")
        _ = board.receive([Self.campaign("1", target: "z")], surface: "home", epoch: epoch)
        _ = board.receive([Self.campaign("2", target: "a")], surface: "home", epoch: epoch)
        _ = board.receive([Self.campaign("3", target: "nobody")], surface: "home", epoch: epoch)
        #expect(ids(board.setDeliverable(true, surface: "home")) == ["1", "2"])
        #expect(board.held(surface: "home").map(\.id) == ["3"])
    }

    @Test("nothing is handed out while the application is not in use, on any surface")
    func inUse() {
        var board = CampaignBoard()
        _ = board.setHandler(Self.ignore, target: "hero", surface: nil)
        _ = board.setHandler(Self.ignore, target: "hero", surface: "home")
        _ = board.setInUse(false)
        #expect(
            ids(board.receive([Self.campaign("1")], surface: "home", epoch: board.epoch(of: "home")))
                == []
        )
        #expect(
            ids(board.receive([Self.campaign("2")], surface: nil, epoch: board.epoch(of: nil))) == []
        )
        #expect(ids(board.setDeliverable(true, surface: "home")) == [])
        #expect(ids(board.setInUse(true)) == ["1", "2"])
    }

    @Test("clearing removes handlers, held campaigns and the answers to earlier events")
    func clear() {
        var board = CampaignBoard()
        let before = board.epoch(of: "home")
        _ = board.setHandler(Self.ignore, target: "hero", surface: "home")
        _ = board.receive([Self.campaign("a", target: "other")], surface: "home", epoch: before)
        #expect(ids(board.clear(surface: "home")) == [])
        #expect(board.held(surface: "home") == [])
        #expect(board.targets(surface: "home") == [])
        _ = board.setHandler(Self.ignore, target: "hero", surface: "home")
        #expect(ids(board.receive([Self.campaign("late")], surface: "home", epoch: before)) == [])
        #expect(board.held(surface: "home") == [])
        let after = board.epoch(of: "home")
        #expect(ids(board.receive([Self.campaign("new")], surface: "home", epoch: after)) == ["new"])
    }

    @Test("a closed surface leaves nothing behind, and late answers don't bring it back")
    func close() {
        var board = CampaignBoard()
        let epoch = board.epoch(of: "home")
        board.close(surface: "home")
        #expect(ids(board.receive([Self.campaign("late")], surface: "home", epoch: epoch)) == [])
        #expect(board.count == 0)
        #expect(board.epoch(of: "home") != epoch)
    }

    @Test("held campaigns can be dropped with the answers to come, while handlers stay")
    func dropHeld() {
        var board = CampaignBoard()
        let epoch = board.epoch(of: nil)
        _ = board.receive([Self.campaign("a")], surface: nil, epoch: epoch)
        _ = board.setHandler(Self.ignore, target: "b", surface: nil)
        board.dropHeld()
        #expect(board.held(surface: nil) == [])
        #expect(board.targets(surface: nil) == ["b"])
        #expect(
            ids(board.receive([Self.campaign("late", target: "b")], surface: nil, epoch: epoch)) == []
        )
    }

    @Test("an unknown epoch counts as the current one")
    func unknownEpoch() {
        var board = CampaignBoard()
        #expect(ids(board.receive([Self.campaign("a")], surface: "home", epoch: nil)) == [])
        #expect(ids(board.setHandler(Self.ignore, target: "hero", surface: "home")) == ["a"])
    }

    @Test("surfaces and targets are distinguished exactly")
    func exact() {
        var board = CampaignBoard()
        _ = board.setHandler(Self.ignore, target: "t", surface: "home")
        let epoch = board.epoch(of: nil)
        #expect(ids(board.receive([Self.campaign("a", target: "t")], surface: nil, epoch: epoch)) == [])
        #expect(
            ids(
                board.receive(
                    [Self.campaign("b", target: "T")],
                    surface: "home",
                    epoch: board.epoch(of: "home")
                )
            ) == []
        )
    }

    @MainActor
    @Test("when its turn comes, a delivery goes to the current handler, back to the board, or nowhere")
    func redeem() {
        final class Calls {
            var names: [String] = []
        }
        let calls = Calls()
        var board = CampaignBoard()
        _ = board.setHandler({ _ in calls.names.append("first") }, target: "hero", surface: nil)
        func due(_ id: String) -> CampaignBoard.Delivery? {
            board.receive([Self.campaign(id)], surface: nil, epoch: board.epoch(of: nil)).first
        }

        let replaced = due("a")
        _ = board.setHandler({ _ in calls.names.append("second") }, target: "hero", surface: nil)
        if let replaced { board.redeem(replaced)?(replaced.campaign) }
        #expect(calls.names == ["second"])

        let withdrawn = due("b")
        let newer = due("c")
        _ = board.setHandler(nil, target: "hero", surface: nil)
        if let newer { #expect(board.redeem(newer) == nil) }
        if let withdrawn { #expect(board.redeem(withdrawn) == nil) }
        #expect(board.held(surface: nil).map(\.id) == ["c"])

        _ = board.setHandler(Self.ignore, target: "hero", surface: nil)
        let cleared = due("d")
        board.clear(surface: nil)
        if let cleared { #expect(board.redeem(cleared) == nil) }
        #expect(board.held(surface: nil) == [])
    }
}
