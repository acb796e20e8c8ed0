#if os(Linux)
    import Synchronization

    /// The active transfers, each found by the index in its call's ticket.
    struct CurlRunning {
        private var places: [CurlTransfer?] = []
        private var free: [Int] = []

        /// The transfers, in no particular order.
        var all: [CurlTransfer] { places.compactMap(\.self) }

        /// Adds a transfer.
        mutating func add(_ transfer: CurlTransfer, as ticket: CurlTicket) {
            if let place = free.popLast() {
                places[place] = transfer
                ticket.place.store(place, ordering: .relaxed)
            } else {
                ticket.place.store(places.count, ordering: .relaxed)
                places.append(transfer)
            }
        }

        /// Returns the transfer of a call; `nil` if it hasn't begun or has ended.
        func transfer(of ticket: CurlTicket) -> CurlTransfer? {
            let place = ticket.place.load(ordering: .relaxed)
            return place < 0 ? nil : places[place]
        }

        /// Removes the transfer of a call.
        mutating func remove(_ ticket: CurlTicket) {
            let place = ticket.place.exchange(-1, ordering: .relaxed)
            guard place >= 0 else { return }
            places[place] = nil
            free.append(place)
        }
    }
#endif
