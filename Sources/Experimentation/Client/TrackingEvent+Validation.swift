extension TrackingEvent {
    /// Rejects what is invalid for every vendor.
    func validate() throws(ExperimentationError) {
        if let objection = attributes.objection { throw .invalid(objection) }
        switch kind {
        case .custom(let name, let value):
            if name.isEmpty { throw .invalid("A custom event needs a name.") }
            if let value, !value.isFinite { throw .invalid("The value of \"\(name)\" must be finite.") }
        case .screenView(let name), .goalCompleted(let name), .goalAbandoned(let name):
            if name.isEmpty { throw .invalid("An event of type \"\(type)\" needs a name.") }
        case .pageView(let url):
            if url.isEmpty { throw .invalid("A page view needs a URL.") }
        case .viewItem(let item), .viewItemDetail(let item), .viewCategory(let item), .viewTag(let item):
            try item?.validate()
        case .review(let item, _), .share(let item), .comment(let item), .favorite(let item): try item.validate()
        case .addToCart(let line), .removeFromCart(let line): try line.validate()
        case .replaceCart(let lines): for line in lines { try line.validate() }
        case .purchase(let order): for line in order.lines { try line.validate() }
        case .sessionEnded(let seconds):
            if !seconds.isFinite || seconds < 0 { throw .invalid("A session can't have lasted \(seconds) seconds.") }
        case .notificationReceived(let content), .notificationOpened(let content):
            if let objection = FlagValue.object(content.payload).objection {
                throw .invalid("The notification's payload \(objection)")
            }
        case .native(let event):
            if let objection = FlagValue.object(event.payload).objection {
                throw .invalid("The payload of \"\(event.type)\" \(objection)")
            }
        // What these hold comes from the vendor.
        case .campaignImpression, .campaignDismissal, .campaignClick, .exposure: break
        case .installed, .sessionStarted, .consentChanged: break
        }
    }
}

extension CatalogItem {
    fileprivate func validate() throws(ExperimentationError) {
        if let objection = attributes.objection { throw .invalid(objection) }
    }
}

extension LineItem {
    fileprivate func validate() throws(ExperimentationError) {
        if quantity < 1 { throw .invalid("The quantity of \"\(item.id)\" must be 1 or more.") }
        try item.validate()
    }
}

extension Attributes {
    /// The first value that can't be stored and sent, as a sentence; `nil` if all can.
    var objection: String? {
        for (name, value) in values {
            if let objection = value.objection { return "The attribute \"\(name)\" \(objection)" }
        }
        return nil
    }
}

extension ExperimentationError {
    fileprivate static func invalid(_ message: String) -> Self { Self(.invalidArgument, message) }
}
